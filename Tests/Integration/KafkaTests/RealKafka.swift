import LocalProcesses
import TestServers
import Testing

@testable import Kafka

/// One broker of a real Kafka, for the life of a suite.
struct RealKafka: Sendable {
  @TaskLocal static var current: RealKafka?

  private let folder: TemporaryFolder
  private let broker: LocalKafka

  static func started() async throws -> RealKafka {
    let folder = try TemporaryFolder(prefix: "hbk")
    let broker = try await LocalKafka.started(.init(folder: folder.path, heapMegabytes: 256, isShortLived: true))
    return RealKafka(folder: folder, broker: broker)
  }

  var bootstrapServers: String { broker.bootstrapServers }

  /// Settings for this broker's clients.
  var configuration: KafkaConfiguration {
    KafkaConfiguration(bootstrapServers: bootstrapServers, clientID: "test", environment: .real)
  }

  func stop() { broker.killAndWait() }
}

/// Runs a suite with one real broker, or skips it with the reason.
struct WithRealKafka: SuiteTrait, TestScoping {
  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    guard test.isSuite, KafkaInstallation.isAvailable else { return try await function() }
    let kafka = try await RealKafka.started()
    defer { kafka.stop() }
    try await RealKafka.$current.withValue(kafka) { try await function() }
  }

  func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { test.isSuite ? self : nil }
}
