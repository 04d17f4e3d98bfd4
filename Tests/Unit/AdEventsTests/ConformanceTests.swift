import AdCore
import Crypto
import Foundation
import JSON
import TestServers
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
}

@Suite("The schema, against other people's tools")
struct ConformanceTests {
  static let files = Program.root + "/Shared/AdEvents/Schema"

  /// The schema's files as a descriptor set of Google's compiler, which gets them as they lie.
  static func compile(to output: String, _ arguments: [String] = []) throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: files + "/handbill/v1").sorted()
    let compiled = try Program.run(
      ["protoc", "-I\(files)", "--descriptor_set_out=\(output)"] + arguments + names.map { "handbill/v1/" + $0 })
    #expect(compiled.status == 0 && compiled.errors.isEmpty, "\(compiled.errors)")
  }

  @Test(
    "protoc takes the schema's files as they lie and sees the fields that we see",
    .enabled(if: Program.isThere("protoc")))
  func descriptors() throws {
    let folder = try Program.temporaryFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Self.compile(to: folder + "/all")
    let google = try CompiledSchema(contentsOf: folder + "/all").fields
    #expect(google.count > 150)
    #expect(google == CompiledSchema.embedded)
  }

  @Test(
    "protoc makes code of them for other languages", .enabled(if: Program.isThere("protoc")),
    arguments: [
      "python", "java", "cpp",
    ])
  func otherLanguages(_ language: String) throws {
    let folder = try Program.temporaryFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Self.compile(to: folder + "/all", ["--\(language)_out=\(folder)"])
    #expect(try FileManager.default.subpathsOfDirectory(atPath: folder).count > 9)
  }

  @Test(
    "what protoc reads and writes again is what we wrote", .enabled(if: Program.isThere("protoc")),
    arguments: AnyMessage.all)
  func protoc(_ message: AnyMessage) throws {
    let folder = try Program.temporaryFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Self.compile(to: folder + "/all", ["--include_imports"])
    for seed in UInt64(0)..<5 {
      let bytes = message.sample(seed).bytes
      try Data(bytes).write(to: URL(fileURLWithPath: folder + "/in"))
      let name = message.schemaName
      let said = try Program.run([
        "sh", "-c",
        "protoc --decode=\(name) --descriptor_set_in=\(folder)/all <\(folder)/in >\(folder)/text"
          + " && protoc --encode=\(name) --descriptor_set_in=\(folder)/all <\(folder)/text >\(folder)/out",
      ])
      #expect(said.status == 0, "\(said.errors)")
      #expect(FileManager.default.contents(atPath: folder + "/out").map { [UInt8]($0) } == bytes)
    }
  }

  @Test("every message, enum and field of the schema says what it means")
  func comments() throws {
    var declarations = 0
    for file in try FileManager.default.contentsOfDirectory(atPath: Self.files + "/handbill/v1") {
      let text = try String(contentsOfFile: Self.files + "/handbill/v1/" + file, encoding: .utf8)
      var before = ""
      for line in text.split(separator: "\n").map({ $0.trimmingCharacters(in: .whitespaces) }) {
        let words = line.split(separator: " ")
        let isField = words.count >= 4 && line.hasSuffix(";") && words[words.count - 2] == "="
        if isField || ["message", "enum", "oneof"].contains(words.first) {
          declarations += 1
          #expect(before.hasPrefix("//"), "\(file): \(line)")
        }
        before = line
      }
    }
    #expect(declarations > 150)
  }

  @Test(
    "Google's protobuf and ours read each other, in both forms", .enabled(if: ConformancePython.path != nil),
    .enabled(if: Program.isThere("protoc")))
  func google() throws {
    let python = try #require(ConformancePython.path)
    let folder = try Program.temporaryFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Self.compile(to: folder + "/all", ["--include_imports"])
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
        try ProtobufJSON.json(fromProtobuf: $0, schemaName: message.schemaName).get().compactText
      }
      input += "\(message.schemaName)\t\(Hexadecimal.text(bytes))\t\(Hexadecimal.text(json.utf8))\n"
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
    #expect(Hexadecimal.bytes(parts[0]) == expected)
    #expect(Hexadecimal.bytes(parts[1]) == expected)
    for json in parts[2...] {
      let headers = properHeaders(type, contentType: "application/json")
      #expect(message.reencode(Hexadecimal.bytes(json) ?? [], headers) == .success(expected))
    }
  }
}
