internal import AdCore
internal import Foundation
internal import JSON
internal import LocalProcesses
internal import Operations
internal import Runtime

/// `handbill app`: an app, as its devices meet the network.
enum AppCommand {
  static let command = Command(
    "app", summary: "Says what an app needs before it gets ads.",
    subcommands: [
      Command(
        "check", summary: "Tries everything that a device of the app would; exit 1 if something is missing.",
        discussion: """
          It looks at the app's record, its set-up and keys in the catalogue, and at the topic of its answers. With a key \
          it then asks for an ad by the client library, as the app would, images included: over the edge where --edge says \
          where that is, else over Kafka. The key of a test build gets a test ad, and now and then none or an error, on \
          purpose (A2); that of a distribution build gets a real ad, which counts as asked for and never shown.
          """,
        options: DatabaseAddress.options + KafkaAddress.options + [
          .value("key-file", "FILE", help: "A file with a key of the app; - for standard input."),
          .value("edge", "URL", help: "The edge's address, such as http://127.0.0.1:8480."),
          .value("country", "CC", default: "US", help: "The device's country."),
          .flag("pad", help: "The device is a pad, not a phone."),
          .flag("no-images", help: "Its images are not fetched, as where this machine does not reach them."),
        ],
        arguments: [CommandArgument("APP", help: "The app's id.")],
        examples: [
          CommandExample("handbill app check chess", "What catalogue and topics lack."),
          CommandExample(
            "handbill app check chess --key-file key --edge http://127.0.0.1:8480", "With an ad, through the edge."),
        ], run: check)
    ])

  /// The longest file of a key that is read, in bytes.
  private static let keyBytesMaximum = 4_096

  @Sendable private static func check(_ invocation: Invocation) async throws -> ExitCode {
    let app = try Invocation.app(invocation.argument(0), of: "APP")
    guard let country = Country(invocation.text("country") ?? "US") else {
      throw UsageError("--country must be two capital letters, such as US")
    }
    let kafka = try KafkaAddress(invocation)
    let key = try invocation.text("key-file").map { path in try readKey(path) }
    if key == nil, invocation.text("edge") != nil { throw UsageError("--edge asks for an ad, which needs --key-file") }
    let examination = AppExamination(
      app: app, databaseURL: try DatabaseAddress.address(invocation),
      topics: invocation.text("edge") == nil
        ? NetworkTopics(kafka: kafka, partitions: TopicsCommand.partitionsDefault) : nil, key: key)
    var findings = try await onOwnThread { try examination.findings() }
    if let key {
      let trial = AppTrial(
        app: app, key: key, way: invocation.text("edge").map { .edge($0) } ?? .kafka(kafka), country: country,
        device: invocation.has("pad") ? .pad : .phone, fetchesImages: !invocation.has("no-images"))
      findings.append(try await trial.finding())
    }
    Terminal.print(
      invocation.wantsJSON ? JSONValue.list(findings.map(\.json)).prettyText : Finding.text(findings))
    return findings.contains { $0.state == .wrong } ? .failure : .success
  }

  private static func readKey(_ path: String) throws -> String {
    let handle = path == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: path)
    guard let bytes = try handle?.read(upToCount: keyBytesMaximum + 1), bytes.count <= keyBytesMaximum,
      let key = String(data: bytes, encoding: .utf8)?.trimmingCharacters(in: .whitespacesAndNewlines), !key.isEmpty
    else { throw UsageError("--key-file \(path): there is no key in it that can be read") }
    return key
  }
}
