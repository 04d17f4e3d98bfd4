import Foundation
import Testing

@testable import Kafka

/// One broker of a real Kafka on loopback, for the life of a suite.
final class RealKafka: Sendable {
  @TaskLocal static var current: RealKafka?

  let bootstrapServers: String
  private let folder: URL
  private let process: Process

  /// A Kafka's folder: `KAFKA_HOME`, or one that lies beside the package.
  static var home: URL? {
    let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardized
    let beside = package.appending(path: "../shared/kafka").standardized.path
    let candidates = [ProcessInfo.processInfo.environment["KAFKA_HOME"], beside].compactMap { $0 }
    return candidates.map { URL(fileURLWithPath: $0) }.first {
      FileManager.default.isExecutableFile(atPath: $0.appending(path: "bin/kafka-server-start.sh").path)
    }
  }

  init(home: URL) throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "kafka-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let (port, controllerPort) = (try RealKafka.freePort(), try RealKafka.freePort())
    bootstrapServers = "127.0.0.1:\(port)"
    let file = folder.appending(path: "server.properties")
    try RealKafka.settings(port: port, controllerPort: controllerPort, folder: folder)
      .write(to: file, atomically: true, encoding: .utf8)
    let format = RealKafka.command(
      home, folder, "kafka-storage.sh", ["format", "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAA", "--config", file.path])
    try format.run()
    format.waitUntilExit()
    process = RealKafka.command(home, folder, "kafka-server-start.sh", [file.path])
    try process.run()
    try awaitReady()
  }

  /// Settings for this broker's clients.
  var configuration: KafkaConfiguration {
    KafkaConfiguration(bootstrapServers: bootstrapServers, clientID: "test", environment: .real)
  }

  func stop() {
    process.terminate()
    process.waitUntilExit()
    try? FileManager.default.removeItem(at: folder)
  }

  private func awaitReady() throws {
    let admin = try KafkaAdmin(configuration: configuration)
    defer { admin.close() }
    // librdkafka itself waits for the broker; the call ends when it answers.
    try admin.ensure(KafkaTopicSpecification(name: "ready", partitionCount: 1), timeoutMilliseconds: 60_000)
  }

  private static func command(_ home: URL, _ folder: URL, _ script: String, _ arguments: [String]) -> Process {
    let process = Process()
    process.executableURL = home.appending(path: "bin/\(script)")
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging([
      "KAFKA_HEAP_OPTS": "-Xmx256m", "LOG_DIR": folder.appending(path: "logs").path,
    ]) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    return process
  }

  private static func settings(port: UInt16, controllerPort: UInt16, folder: URL) -> String {
    """
    process.roles=broker,controller
    node.id=1
    controller.quorum.voters=1@127.0.0.1:\(controllerPort)
    listeners=PLAINTEXT://127.0.0.1:\(port),CONTROLLER://127.0.0.1:\(controllerPort)
    advertised.listeners=PLAINTEXT://127.0.0.1:\(port)
    controller.listener.names=CONTROLLER
    listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
    inter.broker.listener.name=PLAINTEXT
    log.dirs=\(folder.appending(path: "data").path)
    auto.create.topics.enable=false
    offsets.topic.replication.factor=1
    offsets.topic.num.partitions=1
    transaction.state.log.replication.factor=1
    transaction.state.log.min.isr=1
    transaction.state.log.num.partitions=1

    """
  }

  private static func freePort() throws -> UInt16 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1
      }
    }
    guard code == 0 else { throw POSIXError(.EADDRINUSE) }
    return UInt16(bigEndian: address.sin_port)
  }
}

/// Runs a suite with one real broker, or skips it with the reason.
struct WithRealKafka: SuiteTrait, TestScoping {
  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    guard test.isSuite, let home = RealKafka.home else { return try await function() }
    let kafka = try RealKafka(home: home)
    defer { kafka.stop() }
    try await RealKafka.$current.withValue(kafka) { try await function() }
  }

  func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { test.isSuite ? self : nil }
}
