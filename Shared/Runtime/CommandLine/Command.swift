/// A command and its subcommands, from one declaration: the parser, the help and the dispatch all follow it.
package struct Command: Sendable {
  package let name: String
  /// One sentence.
  package let summary: String
  /// More, below the usage line; may be empty.
  package let discussion: String
  package let options: [CommandOption]
  package let arguments: [CommandArgument]
  package let examples: [CommandExample]
  package let subcommands: [Command]
  /// Not listed in the help of the command above it: for programs, not for people. Its own `--help` works.
  package let isHidden: Bool
  /// What it does; nil for a command that only has subcommands.
  package let run: (@Sendable (Invocation) async throws -> ExitCode)?

  package init(
    _ name: String, summary: String, discussion: String = "", options: [CommandOption] = [],
    arguments: [CommandArgument] = [], examples: [CommandExample] = [], subcommands: [Command] = [],
    isHidden: Bool = false, run: (@Sendable (Invocation) async throws -> ExitCode)? = nil
  ) {
    self.name = name
    self.summary = summary
    self.discussion = discussion
    self.options = options
    self.arguments = arguments
    self.examples = examples
    self.subcommands = subcommands
    self.isHidden = isHidden
    self.run = run
  }
}

/// `--name`, or `--name VALUE` when it has a value name.
package struct CommandOption: Sendable {
  /// Without dashes.
  package let name: String
  /// A letter for the short form, without its dash.
  package let letter: Character?
  /// The noun for its value in the help; nil for a flag.
  package let valueName: String?
  package let defaultText: String?
  /// Whether it may be given more than once.
  package let repeats: Bool
  package let help: String

  package static func flag(_ name: String, letter: Character? = nil, help: String) -> CommandOption {
    CommandOption(name: name, letter: letter, valueName: nil, defaultText: nil, repeats: true, help: help)
  }

  package static func value(
    _ name: String, letter: Character? = nil, _ valueName: String, default defaultText: String? = nil,
    repeats: Bool = false, help: String
  ) -> CommandOption {
    CommandOption(
      name: name, letter: letter, valueName: valueName, defaultText: defaultText, repeats: repeats, help: help)
  }
}

/// A positional argument.
package struct CommandArgument: Sendable {
  package let name: String
  package let isRequired: Bool
  /// Whether it takes all that is left; only the last one may.
  package let repeats: Bool
  package let help: String

  package init(_ name: String, isRequired: Bool = true, repeats: Bool = false, help: String) {
    self.name = name
    self.isRequired = isRequired
    self.repeats = repeats
    self.help = help
  }
}

/// A command line that works, and what it does.
package struct CommandExample: Sendable {
  package let line: String
  package let meaning: String

  package init(_ line: String, _ meaning: String) {
    self.line = line
    self.meaning = meaning
  }
}

/// A parsed command line.
package struct Invocation: Sendable {
  /// The names from the root to the command meant.
  package let path: [String]
  package let flags: Set<String>
  /// Every value given, or the default, by option name.
  package let values: [String: [String]]
  package let arguments: [String]

  package func has(_ flag: String) -> Bool { flags.contains(flag) }
  /// The last value given for `option`, or its default.
  package func text(_ option: String) -> String? { values[option]?.last }
  package func texts(_ option: String) -> [String] { values[option] ?? [] }
  package func argument(_ index: Int) -> String? { arguments.indices.contains(index) ? arguments[index] : nil }
  package var wantsJSON: Bool { has("json") }

  /// The option as a whole number in `range`; nil when it is not given and has no default.
  package func integer(_ option: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
    guard let text = text(option) else { return nil }
    guard let value = Int(text), range.contains(value) else {
      let span = "\(range.lowerBound) to \(range.upperBound)"
      throw UsageError("--\(option) must be a whole number, \(span), not “\(TextSafety.singleLine(text))”")
    }
    return value
  }

  /// The option as milliseconds (`1500`, `250ms`, `5s`, `2m`); nil when it is not given and has no default.
  package func milliseconds(_ option: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
    guard let text = text(option) else { return nil }
    guard let value = DurationText.milliseconds(text), range.contains(value) else {
      let span = "\(range.lowerBound) ms to \(range.upperBound) ms"
      throw UsageError("--\(option) must be a duration such as 250ms, 5s or 2m, from \(span)")
    }
    return value
  }
}
