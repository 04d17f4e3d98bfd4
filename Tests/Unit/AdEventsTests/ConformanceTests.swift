import AdCore
import Foundation
import Testing

@testable import AdEvents

/// Another program that a test runs to its end.
enum Program {
  struct Outcome {
    let status: Int32
    let output: String
    let errors: String
  }

  static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path

  /// Runs `arguments` (found by PATH) with files for its input and output, so that no pipe can fill.
  static func run(_ arguments: [String], input: String = "") throws -> Outcome {
    let folder = try temporaryFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    func file(_ name: String, _ content: String = "") throws -> FileHandle {
      try content.write(toFile: folder + "/" + name, atomically: false, encoding: .utf8)
      return try #require(FileHandle(forUpdatingAtPath: folder + "/" + name))
    }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    process.standardInput = try file("input", input)
    process.standardOutput = try file("output")
    process.standardError = try file("errors")
    try process.run()
    process.waitUntilExit()
    return Outcome(
      status: process.terminationStatus,
      output: try String(contentsOfFile: folder + "/output", encoding: .utf8),
      errors: try String(contentsOfFile: folder + "/errors", encoding: .utf8))
  }

  static func temporaryFolder() throws -> String {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("handbill-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    return folder
  }

  static func isThere(_ name: String) -> Bool {
    (try? run(["sh", "-c", "command -v \(name)"]).status) == 0
  }

  /// The python of the conformance tests' environment; nil where it cannot be made (no network, no pip).
  static let python: String? = {
    guard let outcome = try? run([root + "/Tests/Conformance/venv"]), outcome.status == 0 else { return nil }
    return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
  }()
}

func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
  bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

func bytes(hexadecimal text: some StringProtocol) -> [UInt8] {
  let digits = text.utf8.map { UInt8(Character(Unicode.Scalar($0)).hexDigitValue ?? 0) }
  return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

@Suite("The schema, against other people's tools")
struct ConformanceTests {
  @Test("the committed C code is what the schema generates", .enabled(if: Program.isThere("protoc-c")))
  func generatedCode() throws {
    let folder = try Program.temporaryFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let generated = try Program.run([Program.root + "/Shared/AdEvents/Schema/generate", folder])
    #expect(generated.status == 0, "\(generated.errors)")
    for part in ["handbill", "include/handbill"] {
      let difference = try Program.run([
        "diff", "-r", Program.root + "/Shared/C/EventSchema/" + part, folder + "/" + part,
      ])
      #expect(difference.status == 0, "\(difference.output)")
    }
  }

  @Test("the fields taken for bytes are those that the schema calls bytes")
  func bytesFields() throws {
    let folder = Program.root + "/Shared/AdEvents/Schema/handbill/v1"
    var bytesNames: Set<String> = []
    var stringNames: Set<String> = []
    for file in try FileManager.default.contentsOfDirectory(atPath: folder) {
      for line in try String(contentsOfFile: folder + "/" + file, encoding: .utf8).split(separator: "\n") {
        let words = line.split(separator: " ").filter { $0 != "repeated" }
        if words.first == "bytes" { bytesNames.insert(String(words[1])) }
        if words.first == "string" {
          stringNames.insert(String(words[1]))
          #expect(line.contains("string_as_bytes = true"), "\(file): \(line)")
        }
      }
    }
    #expect(bytesNames == MessageShape.Field.bytesNames)
    #expect(stringNames.isDisjoint(with: bytesNames))
  }

  @Test(
    "Google's protobuf and ours read each other, in both forms", .enabled(if: Program.python != nil),
    .enabled(if: Program.isThere("protoc")))
  func google() throws {
    let python = try #require(Program.python)
    let folder = try Program.temporaryFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let schema = Program.root + "/Shared/AdEvents/Schema"
    let include = try Program.run(["pkg-config", "--variable=includedir", "libprotobuf-c"]).output
      .trimmingCharacters(in: .whitespacesAndNewlines)
    let compiled = try Program.run([
      "sh", "-c",
      "cd \(schema) && protoc -I. -I\(include) --include_imports --descriptor_set_out=\(folder)/all handbill/v1/*.proto",
    ])
    #expect(compiled.status == 0, "\(compiled.errors)")
    var cases: [(message: AnyMessage, type: EventType, bytes: [UInt8])] = []
    for message in AnyMessage.all {
      for seed in UInt64(1_000)..<1_200 {
        let (type, bytes) = message.sample(seed)
        cases.append((message, type, bytes))
      }
    }
    var input = ""
    for (message, _, bytes) in cases {
      let json = try bytes.withUnsafeBytes {
        try ProtobufJSON.json(fromProtobuf: $0, schemaName: message.schemaName).get()
      }
      input += "\(message.schemaName)\t\(hexadecimal(bytes))\t\(hexadecimal(json.utf8))\n"
    }
    let script = Program.root + "/Tests/Conformance/protobuf_messages.py"
    let outcome = try Program.run([python, script, folder + "/all"], input: input)
    #expect(outcome.status == 0, "\(outcome.errors)")
    let lines = outcome.output.split(separator: "\n")
    #expect(lines.count == cases.count)
    for (line, (message, type, expected)) in zip(lines, cases) {
      check(line, message, type, expected)
    }
  }

  private func check(_ line: Substring, _ message: AnyMessage, _ type: EventType, _ expected: [UInt8]) {
    let parts = line.split(separator: "\t", omittingEmptySubsequences: false)
    guard parts.count == 5 else {
      Issue.record("\(message.schemaName): \(line)")
      return
    }
    #expect(bytes(hexadecimal: parts[0]) == expected)
    #expect(bytes(hexadecimal: parts[1]) == expected)
    for json in parts[2...] {
      let headers = properHeaders(type, contentType: "application/json")
      #expect(message.reencode(bytes(hexadecimal: json), headers) == .success(expected))
    }
  }
}
