/// What a person must know of one configuration key. ``ConfigurationKey`` adds how its text becomes a value.
package struct ConfigurationDeclaration: Sendable, Equatable {
  /// The name in the environment, such as `HANDBILL_KAFKA_BOOTSTRAP_SERVERS`.
  package let name: String
  /// Names in the environment that count as well, when `name` is not set.
  package let otherNames: [String]
  /// Type, range and unit in words, such as `integer, 1 to 64 threads`.
  package let kind: String
  /// The default as text; nil when there is none.
  package let defaultText: String?
  /// True when the program cannot start without a value.
  package let isRequired: Bool
  /// True when the value must never be printed, logged or shown.
  package let isSecret: Bool
  /// One sentence.
  package let help: String
  /// True when the value may have several lines, as a PEM file has.
  package var hasLines = false

  /// The option on the command line, without its dashes: `kafka-bootstrap-servers`.
  package var optionName: String {
    let own = name.hasPrefix("HANDBILL_") ? name.dropFirst("HANDBILL_".count) : name[...]
    return own.lowercased().replacing("_", with: "-")
  }

  /// The name of the environment variable that may hold the path of a file with the value (for secrets).
  package var fileName: String { name + "_FILE" }

  /// Two lines for `--help`: names and kind, then help, default and what else must be known.
  package var helpText: String {
    var notes: [String] = []
    if isRequired { notes.append("required") }
    if let defaultText { notes.append(defaultText.isEmpty ? "default: empty" : "default: \(defaultText)") }
    if isSecret { notes.append("secret: give a file by \(fileName)") }
    if !otherNames.isEmpty { notes.append("also read from \(otherNames.joined(separator: ", "))") }
    let end = notes.isEmpty ? "" : " (\(notes.joined(separator: "; ")))"
    return "  \(name), --\(optionName) <\(kind)>\n      \(help)\(end)"
  }
}

/// One thing that is wrong with the configuration. It never holds the value of a secret.
package struct ConfigurationProblem: Error, Sendable, Equatable, CustomStringConvertible {
  /// The name of the key.
  package let key: String
  /// What is wrong, and what would be right.
  package let reason: String

  package init(key: String, reason: String) {
    self.key = key
    self.reason = reason
  }

  package var description: String { "\(key): \(reason)" }
}

/// All that is wrong with the configuration, in the order of the keys read.
package struct ConfigurationProblems: Error, Sendable, Equatable, CustomStringConvertible {
  package let problems: [ConfigurationProblem]

  package var description: String {
    let count = problems.count == 1 ? "1 problem" : "\(problems.count) problems"
    return "configuration: \(count)\n" + problems.map { "  \($0)" }.joined(separator: "\n")
  }
}
