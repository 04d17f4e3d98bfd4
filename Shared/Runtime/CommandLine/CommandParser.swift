/// What a command line asks for.
package enum CommandRequest: Sendable {
  case run(Command, Invocation)
  /// The help text to print.
  case help(String)
  case version
  /// A mistake, and the usage line of the command where it was made.
  case mistake(UsageError, usage: String)
}

/// Turns arguments into a ``CommandRequest`` by a ``Command`` declaration.
package struct CommandParser {
  /// What every command understands.
  package static let standardOptions: [CommandOption] = [
    .flag("help", letter: "h", help: "Show this help."),
    .flag("version", help: "Show the version."),
    .flag("json", help: "Write the result to standard output as JSON."),
    .flag("no-color", help: "Write no colours (NO_COLOR in the environment does the same)."),
  ]

  private var trail: [Command]
  private var flags: Set<String> = []
  private var values: [String: [String]] = [:]
  private var positional: [String] = []

  private init(root: Command) { trail = [root] }

  /// Parses the arguments after the program's name.
  package static func parse(_ arguments: [String], as root: Command) -> CommandRequest {
    var parser = CommandParser(root: root)
    do throws(UsageError) {
      return try parser.request(arguments)
    } catch {
      return .mistake(error, usage: CommandHelp.usage(parser.trail))
    }
  }

  private var command: Command { trail[trail.count - 1] }

  private mutating func request(_ arguments: [String]) throws(UsageError) -> CommandRequest {
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      if argument == "--" {
        positional.append(contentsOf: rest)
        break
      }
      if argument.hasPrefix("-"), argument != "-" {
        try takeOption(argument, &rest)
        if flags.contains("help") { return .help(CommandHelp.text(trail)) }
        if flags.contains("version") { return .version }
      } else if !command.subcommands.isEmpty, positional.isEmpty {
        try descend(argument)
      } else {
        positional.append(argument)
      }
    }
    guard command.run != nil else {
      if arguments.isEmpty { return .help(CommandHelp.text(trail)) }
      throw UsageError("\(trail.map(\.name).joined(separator: " ")) needs a subcommand")
    }
    try checkPositional()
    for option in options where option.defaultText != nil && values[option.name] == nil {
      values[option.name] = option.defaultText.map { [$0] }
    }
    let invocation = Invocation(path: trail.map(\.name), flags: flags, values: values, arguments: positional)
    return .run(command, invocation)
  }

  private var options: [CommandOption] { trail.flatMap(\.options) + CommandParser.standardOptions }

  private mutating func descend(_ name: String) throws(UsageError) {
    guard let next = command.subcommands.first(where: { $0.name == name }) else {
      let names = command.subcommands.map(\.name)
      throw UsageError("unknown subcommand “\(TextSafety.singleLine(name))”" + suggestion(name, names, prefix: ""))
    }
    trail.append(next)
  }

  private mutating func takeOption(_ argument: String, _ rest: inout ArraySlice<String>) throws(UsageError) {
    let isLong = argument.hasPrefix("--")
    let body = argument.dropFirst(isLong ? 2 : 1)
    let parts = body.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = parts.first.map(String.init) ?? ""
    let found = options.first { isLong ? $0.name == name : $0.letter.map(String.init) == name }
    guard let option = found else {
      let shown = TextSafety.singleLine(argument, bytesMaximum: 80)
      throw UsageError("unknown option “\(shown)”" + suggestion(name, options.map(\.name), prefix: "--"))
    }
    let attached = parts.count == 2 ? String(parts[1]) : nil
    guard let valueName = option.valueName else {
      if attached != nil { throw UsageError("--\(option.name) takes no value") }
      flags.insert(option.name)
      return
    }
    guard let value = attached ?? rest.first, attached != nil || !value.hasPrefix("--") else {
      throw UsageError("--\(option.name) needs a value: --\(option.name) \(valueName)")
    }
    if attached == nil { rest.removeFirst() }
    if !option.repeats, values[option.name] != nil { throw UsageError("--\(option.name) is given twice") }
    values[option.name, default: []].append(value)
  }

  private func checkPositional() throws(UsageError) {
    let declared = command.arguments
    if positional.count < declared.filter(\.isRequired).count {
      throw UsageError("missing argument \(declared[positional.count].name): \(declared[positional.count].help)")
    }
    if positional.count > declared.count, declared.last?.repeats != true {
      throw UsageError("unexpected argument “\(TextSafety.singleLine(positional[declared.count]))”")
    }
  }

  private func suggestion(_ name: String, _ candidates: [String], prefix: String) -> String {
    NearestName.find(name, among: candidates).map { "; did you mean \(prefix)\($0)?" } ?? ""
  }
}
