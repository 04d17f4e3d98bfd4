import Synchronization
import Testing

@testable import Runtime

@Suite("Command line")
struct CommandLineTests {
  private static let root = Command(
    "tool", summary: "Does things.",
    subcommands: [
      Command(
        "simulate", summary: "Simulates.",
        options: [
          .value("rate", letter: "r", "PER-SECOND", default: "10", help: "Requests per second."),
          .value("app", "APP", repeats: true, help: "An app."),
          .flag("quick", letter: "q", help: "Less of all."),
        ],
        arguments: [
          CommandArgument("FILE", help: "What to read."),
          CommandArgument("MORE", isRequired: false, repeats: true, help: "More."),
        ],
        examples: [CommandExample("tool simulate x.json", "Simulates x.")], run: { _ in .success }),
      Command(
        "log", summary: "Logs.",
        subcommands: [Command("accept", summary: "Accepts.", run: { _ in throw UsageError("no") })]),
    ])

  private func invocation(_ line: String) -> Invocation? {
    let words = line.split(separator: " ").map(String.init)
    if case .run(_, let invocation) = CommandParser.parse(words, as: Self.root) { return invocation }
    return nil
  }

  private func mistake(_ line: String) -> String? {
    let words = line.split(separator: " ").map(String.init)
    if case .mistake(let error, _) = CommandParser.parse(words, as: Self.root) { return error.message }
    return nil
  }

  @Test(
    "options in every spelling",
    arguments: [
      ("simulate f", "10", false), ("simulate f --rate 5", "5", false), ("simulate --rate=5 f", "5", false),
      ("simulate -r 5 -q f", "5", true), ("simulate f --quick", "10", true), ("simulate --rate -5 f", "-5", false),
      ("simulate --rate=--x f", "--x", false),
    ])
  func options(line: String, rate: String, quick: Bool) {
    let invocation = invocation(line)
    #expect(invocation?.path == ["tool", "simulate"])
    #expect(invocation?.text("rate") == rate)
    #expect(invocation?.has("quick") == quick)
    #expect(invocation?.arguments == ["f"])
  }

  @Test("repeated options, trailing arguments and everything after --")
  func repeated() {
    let invocation = invocation("simulate --app a --app b f g -- --quick")
    #expect(invocation?.texts("app") == ["a", "b"])
    #expect(invocation?.arguments == ["f", "g", "--quick"])
    #expect(invocation?.has("quick") == false)
  }

  @Test("the standard flags are understood everywhere")
  func standard() {
    #expect(invocation("--json simulate f")?.wantsJSON == true)
    #expect(invocation("simulate f --json --no-color")?.has("no-color") == true)
  }

  @Test(
    "mistakes are named, with what was probably meant",
    arguments: [
      ("simulate f --rat 5", "did you mean --rate?"), ("simulat f", "did you mean simulate?"),
      ("simulate", "missing argument FILE"), ("simulate f --rate", "--rate needs a value"),
      ("simulate f --rate --quick", "--rate needs a value"), ("simulate f --quick=1", "takes no value"),
      ("simulate f --rate 1 --rate 2", "given twice"), ("log", "needs a subcommand"),
      ("log accept extra", "unexpected argument"), ("simulate f -z", "unknown option"),
      ("simulate f -", nil), ("zzzzzz", "unknown subcommand"),
    ] as [(String, String?)])
  func mistakes(line: String, part: String?) {
    let message = mistake(line)
    if let part {
      #expect(message?.contains(part) == true, "\(message ?? "accepted")")
    } else {
      #expect(message == nil)
    }
  }

  @Test("a mistake cannot smuggle escapes into the terminal")
  func escapes() {
    #expect(mistake("--\u{1B}[31m")?.contains("\u{1B}") == false)
  }

  @Test("help that quotes a rule says where the rules are; other help does not")
  func rules() {
    for (help, isSaid) in [("Test traffic (A2) only.", true), ("Test traffic (UTC) only.", false)] {
      let command = Command("report", summary: "Reports.", options: [.flag("test", help: help)], run: { _ in .success })
      guard case .help(let text) = CommandParser.parse(["--help"], as: command) else {
        Issue.record("no help")
        return
      }
      #expect(text.hasSuffix("Numbers such as (A2) are rules: docs/rules.md says what each means.") == isSaid)
    }
  }

  @Test("help shows options, defaults, arguments and examples of the command meant")
  func help() {
    guard case .help(let text) = CommandParser.parse(["simulate", "--help"], as: Self.root) else {
      Issue.record("no help")
      return
    }
    for part in [
      "Usage: tool simulate [options] FILE [MORE...]", "-r, --rate PER-SECOND", "(default: 10)", "--json",
      "tool simulate x.json",
    ] {
      #expect(text.contains(part), "\(part)")
    }
  }

  @Test("numbers are checked against their range")
  func numbers() throws {
    let parsed = try #require(invocation("simulate f --rate 11"))
    #expect(try parsed.integer("rate", in: 1...11) == 11)
    #expect(throws: UsageError.self) { try parsed.integer("rate", in: 1...10) }
    #expect(try parsed.integer("app", in: 1...10) == nil)
  }

  @Test("exit codes: 0 success, 64 usage, also when the command itself says so")
  func exitCodes() async {
    #expect(await CommandLineProgram.run(Self.root, arguments: ["simulate", "f"]).rawValue == 0)
    #expect(await CommandLineProgram.run(Self.root, arguments: ["log", "accept"]).rawValue == 64)
    #expect(await CommandLineProgram.run(Self.root, arguments: ["nothing"]).rawValue == 64)
    #expect(ExitCode.configuration.rawValue == 78 && ExitCode.unavailable.rawValue == 69)
  }

  @Test("a progress line is silent for a second, then overwrites itself, and leaves an empty line")
  func progress() {
    let time = Mutex<Int64>(0)
    let written = Mutex<[String]>([])
    let line = ProgressLine(
      isShown: true, now: { time.withLock { $0 } }, write: { text in written.withLock { $0.append(text) } })
    line.show("early")
    #expect(written.withLock { $0 } == [])
    time.withLock { $0 = 1_000 }
    line.show("long text")
    line.show("too soon")
    time.withLock { $0 = 1_200 }
    line.show("short")
    line.finish()
    #expect(written.withLock { $0 } == ["\rlong text", "\rshort    ", "\r     \r"])
  }
}
