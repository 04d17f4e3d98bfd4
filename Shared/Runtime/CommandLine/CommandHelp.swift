/// The help of a command, from its declaration.
enum CommandHelp {
  /// `handbill catalog apply [options] FILE`
  static func usage(_ trail: [Command]) -> String {
    guard let command = trail.last else { return "" }
    let words =
      trail.map(\.name) + ["[options]"]
      + (command.subcommands.isEmpty ? [] : ["SUBCOMMAND"])
      + command.arguments.map { argument in
        let name = argument.name + (argument.repeats ? "..." : "")
        return argument.isRequired ? name : "[\(name)]"
      }
    return words.joined(separator: " ")
  }

  static func text(_ trail: [Command]) -> String {
    guard let command = trail.last else { return "" }
    var sections = [command.summary, "Usage: \(usage(trail))"]
    if !command.discussion.isEmpty { sections.append(command.discussion) }
    let listed = command.subcommands.filter { !$0.isHidden }
    if !listed.isEmpty {
      sections.append("Subcommands:\n" + table(listed.map { ($0.name, $0.summary) }))
    }
    if !command.arguments.isEmpty {
      sections.append("Arguments:\n" + table(command.arguments.map { ($0.name, $0.help) }))
    }
    let options = trail.reversed().flatMap(\.options) + CommandParser.standardOptions
    sections.append("Options:\n" + table(options.map { (spelling($0), help($0)) }))
    if !command.examples.isEmpty {
      let lines = command.examples.map { "  \($0.line)\n      \($0.meaning)" }
      sections.append("Examples:\n" + lines.joined(separator: "\n"))
    }
    return withRules(sections.joined(separator: "\n\n"))
  }

  /// Whoever meets a rule's number is told where the rules are.
  private static func withRules(_ text: String) -> String {
    guard let quote = text.firstMatch(of: /\([A-Z][0-9]{1,2}\)/) else { return text }
    return text + "\n\nNumbers such as \(quote.output) are rules: docs/rules.md says what each means."
  }

  private static func spelling(_ option: CommandOption) -> String {
    let short = option.letter.map { "-\($0), " } ?? ""
    return "\(short)--\(option.name)" + (option.valueName.map { " \($0)" } ?? "")
  }

  private static func help(_ option: CommandOption) -> String {
    option.help + (option.defaultText.map { " (default: \($0))" } ?? "")
  }

  private static func table(_ rows: [(String, String)]) -> String {
    let width = rows.map(\.0.count).max() ?? 0
    return rows.map { name, help in
      "  " + name + String(repeating: " ", count: width - name.count + 2) + help
    }.joined(separator: "\n")
  }
}
