internal import Foundation

/// Reads keys in this order: command line, environment, a file that `NAME_FILE` points to, default. It goes on after a
/// problem, so that a person sees all of them at once.
package struct ConfigurationReader {
  /// What was wrong so far.
  package private(set) var problems: [ConfigurationProblem] = []
  private let commandLine: [String: String]
  private let environment: [String: String]
  private let readFile: (String) -> String?

  /// - Parameters:
  ///   - commandLine: values by option name without dashes (`kafka-bootstrap-servers`).
  ///   - environment: values by variable name.
  ///   - readFile: the text of the file at a path; nil when it cannot be read.
  package init(
    commandLine: [String: String] = [:], environment: [String: String],
    readFile: @escaping (String) -> String? = ConfigurationReader.textOfFile
  ) {
    self.commandLine = commandLine
    self.environment = environment
    self.readFile = readFile
  }

  /// All that `make` reads.
  ///
  /// - Throws: every problem together; a program prints it and exits with ``ExitCode/configuration``.
  package static func read<Settings>(
    commandLine: [String: String] = [:], environment: [String: String],
    readFile: @escaping (String) -> String? = ConfigurationReader.textOfFile,
    _ make: (inout ConfigurationReader) -> Settings
  ) throws(ConfigurationProblems) -> Settings {
    var reader = ConfigurationReader(commandLine: commandLine, environment: environment, readFile: readFile)
    let settings = make(&reader)
    guard reader.problems.isEmpty else { throw ConfigurationProblems(problems: reader.problems) }
    return settings
  }

  /// The key's value. After a problem it is a neutral one, and the problem is in ``problems``.
  package mutating func value<Value>(_ key: ConfigurationKey<Value>) -> Value {
    let declaration = key.declaration
    guard let text = text(of: declaration) else {
      if let defaultValue = key.defaultValue { return defaultValue }
      if !problems.contains(where: { $0.key == declaration.name }) {
        note(declaration, "is required (\(declaration.kind)): \(declaration.help)")
      }
      return key.neutral
    }
    guard text.utf8.count <= ConfigurationLimits.valueBytesMaximum,
      !text.unicodeScalars.contains(where: { scalar in
        scalar.properties.generalCategory == .control && !(declaration.hasLines && (scalar == "\n" || scalar == "\r"))
      })
    else {
      let most = ConfigurationLimits.valueBytesMaximum
      note(declaration, "must have no control characters and at most \(most) bytes")
      return key.neutral
    }
    switch key.parse(text) {
    case .success(let value): return value
    case .failure(let error):
      let shown = declaration.isSecret ? "" : ", not “\(TextSafety.singleLine(text, bytesMaximum: 80))”"
      note(declaration, error.expectation + shown)
      return key.neutral
    }
  }

  /// Adds a problem that concerns several keys together.
  package mutating func report(_ key: String, _ reason: String) {
    problems.append(ConfigurationProblem(key: key, reason: reason))
  }

  /// Variables that begin with `HANDBILL_` but are no key, each with the key that was probably meant.
  package func unknownNames(declared: [ConfigurationDeclaration]) -> [(name: String, nearest: String?)] {
    let known = Set(declared.flatMap { [$0.name, $0.fileName] + $0.otherNames })
    return environment.keys.filter { $0.hasPrefix("HANDBILL_") && !known.contains($0) }.sorted().map { name in
      (name, NearestName.find(name, among: Array(known)))
    }
  }

  /// The text of a file of at most ``ConfigurationLimits/valueBytesMaximum`` bytes.
  package static func textOfFile(_ path: String) -> String? {
    guard let file = FileHandle(forReadingAtPath: path) else { return nil }
    defer { try? file.close() }
    guard let data = try? file.read(upToCount: ConfigurationLimits.valueBytesMaximum + 1) else { return nil }
    return String(data: data, encoding: .utf8)
  }

  private mutating func text(of declaration: ConfigurationDeclaration) -> String? {
    if let text = commandLine[declaration.optionName] { return text }
    for name in [declaration.name] + declaration.otherNames {
      // An empty variable is one that is not set: compose files write `NAME=${NAME:-}`.
      if let text = environment[name], !text.isEmpty { return text }
    }
    guard let path = environment[declaration.fileName], !path.isEmpty else { return nil }
    guard let text = readFile(path) else {
      note(declaration, "the file named by \(declaration.fileName) cannot be read as text")
      return nil
    }
    // Editors end a file with a line end, which no secret has.
    return text.trimmingSpaces()
  }

  private mutating func note(_ declaration: ConfigurationDeclaration, _ reason: String) {
    problems.append(ConfigurationProblem(key: declaration.name, reason: reason))
  }
}
