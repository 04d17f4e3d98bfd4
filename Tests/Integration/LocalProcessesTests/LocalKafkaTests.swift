import Foundation
import LocalProcesses
import TestServers
import Testing

@Suite(.enabled(if: KafkaInstallation.isAvailable, "\(KafkaInstallation.reasonMissing ?? "")"))
struct LocalKafkaTests {
  @Test("A broker starts, keeps its topics over kill -9, stop and start, and leaves no process")
  func life() async throws {
    let folder = try TemporaryFolder()
    let kafka = try await LocalKafka.started(.init(folder: folder.path, heapMegabytes: 256, isShortLived: true))
    try await kafka.run("kafka-topics.sh", ["--create", "--topic", "kept", "--partitions", "3"])
    let address = kafka.bootstrapServers
    let process = try #require(kafka.processIdentifier.flatMap(ProcessTable.entry))
    try await kafka.kill()
    #expect(!kafka.isRunning)
    #expect(!ProcessTable.isRunning(process))
    try await kafka.start()
    #expect(kafka.bootstrapServers == address)
    try await kafka.restart()
    #expect(try await kafka.run("kafka-topics.sh", ["--list"]).contains("kept"))
    try await kafka.stop()
    #expect(!kafka.isRunning)
  }
}
