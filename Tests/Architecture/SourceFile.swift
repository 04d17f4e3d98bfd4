import Foundation

/// A text file of the package, and for Swift its code without comments and texts.
struct SourceFile: Sendable {
  /// Relative to the package's folder.
  let path: String
  let lines: [String]
  /// The lines of a Swift file with comments and the insides of string literals taken out.
  let codeLines: [String]

  init(path: String, text: String) {
    self.path = path
    lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    codeLines = path.hasSuffix(".swift") ? SourceFile.withoutCommentsAndTexts(lines) : lines
  }

  /// The modules that it imports.
  var imports: [String] {
    codeLines.compactMap { line in
      let words = line.split(separator: " ").map(String.init)
      guard let keyword = words.firstIndex(of: "import"), keyword + 1 < words.count,
        words[..<keyword].allSatisfy({ $0.hasPrefix("@") || accessLevels.contains($0) })
      else { return nil }
      let kinds: Set = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
      let name = kinds.contains(words[keyword + 1]) ? words.dropFirst(keyword + 2).first : words[keyword + 1]
      return name?.split(separator: ".").first.map(String.init)
    }
  }

  private var accessLevels: Set<String> { ["public", "package", "internal", "fileprivate", "private"] }

  /// Numbers, from 1, of the code lines that contain a word as a whole.
  func codeLines(with word: String) -> [Int] {
    codeLines.indices.filter { contains(codeLines[$0], word) }.map { $0 + 1 }
  }

  private func contains(_ line: String, _ word: String) -> Bool {
    var rest = line[...]
    while let found = rest.range(of: word) {
      let before = found.lowerBound == line.startIndex ? nil : line[line.index(before: found.lowerBound)]
      let after = found.upperBound == line.endIndex ? nil : line[found.upperBound]
      let isWordBefore = word.first.map(isWordCharacter) == true && before.map(isWordCharacter) == true
      let isWordAfter = word.last.map(isWordCharacter) == true && after.map(isWordCharacter) == true
      if !isWordBefore && !isWordAfter { return true }
      rest = rest[found.upperBound...]
    }
    return false
  }

  private func isWordCharacter(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || character == "_"
  }

  /// The functions with more lines than allowed, told by swift-format's indentation: a body ends with a bracket below
  /// the first letter of its declaration.
  func functions(longerThan limit: Int) -> [String] {
    codeLines.indices.compactMap { start in
      let line = codeLines[start]
      let words = line.split(separator: " ")
      guard words.contains("func") || words.contains(where: { $0.hasPrefix("init(") || $0.hasPrefix("init<") }) else {
        return nil
      }
      let end = line.prefix { $0 == " " } + "}"
      let last = codeLines[(start + 1)...].firstIndex {
        $0.hasPrefix(end) || $0.hasPrefix(line.prefix { $0 == " " } + "/")
      }
      guard !line.hasSuffix("}"), line.hasSuffix("{") || line.hasSuffix("("), let last else { return nil }
      return last - start + 1 > limit ? "\(path):\(start + 1): \(last - start + 1) lines" : nil
    }
  }

  private static func withoutCommentsAndTexts(_ lines: [String]) -> [String] {
    var isInText = false
    var isInComment = false
    return lines.map { line in
      if isInText {
        if line.contains("\"\"\"") { isInText = false }
        return ""
      }
      if isInComment {
        if line.contains("*/") { isInComment = false }
        return ""
      }
      let code = withoutCommentsAndTexts(line)
      if code.hasSuffix("\"\"\"") { isInText = true }
      if let comment = code.range(of: "/*") {
        isInComment = !code[comment.upperBound...].contains("*/")
        return String(code[..<comment.lowerBound])
      }
      return code
    }
  }

  private static func withoutCommentsAndTexts(_ line: String) -> String {
    var code = ""
    var isInText = false
    var isEscaped = false
    var rest = line[...]
    while let character = rest.first {
      if !isInText && rest.hasPrefix("//") { break }
      if !isInText && rest.hasPrefix("\"\"\"") { return code + "\"\"\"" }
      if character == "\"" && !isEscaped {
        isInText.toggle()
        code.append(character)
      } else if !isInText {
        code.append(character)
      }
      isEscaped = isInText && character == "\\" && !isEscaped
      rest = rest.dropFirst()
    }
    return code
  }
}

/// The package's own files.
enum SourceTree {
  static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

  /// Every text file outside the folders of builds.
  static let files: [SourceFile] = {
    let kinds: Set = ["swift", "md", "sh", "sql", "yaml", "yml", "json", "proto", "c", "h", "py", "modulemap", ""]
    let names = FileManager.default.enumerator(atPath: root)?.compactMap { $0 as? String } ?? []
    return names.sorted().compactMap { path in
      let folders = path.split(separator: "/")
      let isHidden = folders.first.map { $0.hasPrefix(".") && $0 != ".ci" } ?? true
      let isKnown = kinds.contains(URL(fileURLWithPath: path).pathExtension)
      guard !isHidden, isKnown,
        let data = FileManager.default.contents(atPath: "\(root)/\(path)")
      else { return nil }
      return String(data: data, encoding: .utf8).map { SourceFile(path: path, text: $0) }
    }
  }()

  static let swiftFiles = files.filter { $0.path.hasSuffix(".swift") }

  static func text(_ path: String) -> String? {
    files.first { $0.path == path }?.lines.joined(separator: "\n")
  }

  static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: "\(root)/\(path)") }
}
