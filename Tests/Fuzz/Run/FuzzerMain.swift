import Foundation
import FuzzTargets
import Runtime

/// What `make fuzz` needs besides the fuzzer itself: inputs to begin with, the corpus, and one input once more.
@main
enum FuzzerMain {
  static let command = Command(
    "fuzzer", summary: "Prepares and ends runs of the fuzzer, and replays what it found.",
    subcommands: [
      Command("list", summary: "Names the targets.") { _ in
        Terminal.print(FuzzTarget.all.map(\.name).joined(separator: "\n"))
        return .success
      },
      Command(
        "unpack", summary: "Writes a target's first inputs into a folder, and its words and limits beside it.",
        arguments: [
          CommandArgument("TARGET", help: "As 'list' names it."),
          CommandArgument("CORPUS", help: "The file that holds its corpus, if there is one."),
          CommandArgument("FOLDER", help: "Where to."),
        ], run: unpack),
      Command(
        "pack", summary: "Writes what a folder holds as a corpus.",
        arguments: [
          CommandArgument("FOLDER", help: "Where the inputs lie."), CommandArgument("CORPUS", help: "Where to."),
        ], run: pack),
      Command(
        "replay", summary: "Feeds files to a target.",
        arguments: [
          CommandArgument("TARGET", help: "As 'list' names it."),
          CommandArgument("FILE", repeats: true, help: "An input, as the fuzzer kept it."),
        ], run: replay),
    ])

  static func main() async {
    #if FUZZING
      if FuzzerEntry.isWanted { FuzzerEntry.run() }
    #endif
    exit(await CommandLineProgram.run(command).rawValue)
  }

  private static func target(_ invocation: Invocation) throws -> FuzzTarget {
    let name = invocation.arguments.first ?? ""
    guard let target = FuzzTarget.named(name) else { throw UsageError("no target is called \(name)") }
    return target
  }

  @Sendable private static func unpack(_ invocation: Invocation) throws -> ExitCode {
    let target = try target(invocation)
    let folder = invocation.arguments[2]
    let corpus = (try? String(contentsOfFile: invocation.arguments[1], encoding: .utf8)) ?? ""
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for (index, input) in (target.seeds() + (FuzzCorpus.inputs(corpus) ?? [])).enumerated() {
      try Data(input).write(to: URL(fileURLWithPath: "\(folder)/\(index)"))
    }
    // libFuzzer's dictionary: a word a line, its bytes in hexadecimal.
    let words = target.words.map { word in
      "\"" + word.utf8.map { "\\x" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "\"\n"
    }
    try words.joined().write(toFile: folder + ".words", atomically: true, encoding: .utf8)
    Terminal.print("\(target.inputBytesMaximum)")
    return .success
  }

  @Sendable private static func pack(_ invocation: Invocation) throws -> ExitCode {
    let folder = invocation.arguments[0]
    let inputs = try FileManager.default.contentsOfDirectory(atPath: folder).map { name in
      Array(try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)")))
    }
    try FuzzCorpus.text(inputs).write(toFile: invocation.arguments[1], atomically: true, encoding: .utf8)
    return .success
  }

  @Sendable private static func replay(_ invocation: Invocation) throws -> ExitCode {
    let target = try target(invocation)
    var exitCode = ExitCode.success
    for path in invocation.arguments.dropFirst() {
      let fault = try unsafe Data(contentsOf: URL(fileURLWithPath: path)).withUnsafeBytes { unsafe target.fault($0) }
      Terminal.print("\(path): \(fault ?? "all holds")")
      if fault != nil { exitCode = .failure }
    }
    return exitCode
  }
}
