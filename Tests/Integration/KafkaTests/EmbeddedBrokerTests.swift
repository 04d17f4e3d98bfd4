import Foundation
import Testing
import Threads

@testable import Kafka

@Suite("The embedded broker's process", .timeLimit(.minutes(10)))
struct EmbeddedBrokerTests {
  @Test("Its lines and its control socket make topics, and it ends with its standard input")
  func lines() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "broker-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let socketPath = folder.appending(path: "control").path
    let input = Pipe()
    let output = Pipe()
    let ended = Monitor<String?>(nil)
    let descriptors = (input.fileHandleForReading.fileDescriptor, output.fileHandleForWriting.fileDescriptor)
    _ = OwnerThread("broker") {
      var outcome = "ended"
      do {
        try EmbeddedBrokerServer.serve(controlSocket: socketPath, input: descriptors.0, output: descriptors.1)
      } catch {
        outcome = "\(error)"
      }
      ended.update { $0 = outcome }
    }
    func line() -> String {
      var bytes: [UInt8] = []
      while let byte = try? output.fileHandleForReading.read(upToCount: 1)?.first, byte != UInt8(ascii: "\n") {
        bytes.append(byte)
      }
      return String(decoding: bytes, as: UTF8.self)
    }
    func say(_ text: String) throws { try input.fileHandleForWriting.write(contentsOf: Array((text + "\n").utf8)) }

    let ready = line()
    #expect(ready.hasPrefix("ready 127.0.0.1:"))
    try say("topic first 3")
    #expect(line() == "ok first")
    try say("topic first 3\ntopic first 4\ntopic no/name 1\ntopic x 0\ntopic x 99999999999\nnonsense")
    #expect(line() == "ok first")
    for _ in 0..<5 { #expect(line().hasPrefix("error ")) }

    let control = EmbeddedBrokerControl(socketPath: socketPath)
    let servers = String(ready.dropFirst("ready ".count))
    try control.createTopic("second", partitions: 5)
    try control.createTopic("second", partitions: 5)
    #expect(throws: KafkaError.self) { try control.createTopic("second", partitions: 6) }
    let probe = try KafkaTopicProbe(
      configuration: KafkaConfiguration(bootstrapServers: servers, clientID: "test", environment: .embedded))
    #expect(try probe.partitionCount(topic: "first", timeoutMilliseconds: 10_000) == 3)
    #expect(try probe.partitionCount(topic: "second", timeoutMilliseconds: 10_000) == 5)
    probe.close(timeoutMilliseconds: 5_000)

    try input.fileHandleForWriting.close()
    #expect(ended.wait(timeoutMilliseconds: 20_000) { $0 != nil })
    #expect(ended.withLock { $0 } == "ended")
    #expect(!FileManager.default.fileExists(atPath: socketPath))
    let error = #expect(throws: KafkaError.self) { try control.createTopic("third", partitions: 1) }
    #expect(error?.kind == .brokerUnavailable)
  }

  @Test("A line that never ends cuts only its own connection")
  func longLine() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "broker-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let socketPath = folder.appending(path: "control").path
    let input = Pipe()
    let output = Pipe()
    let descriptors = (input.fileHandleForReading.fileDescriptor, output.fileHandleForWriting.fileDescriptor)
    let broker = OwnerThread("broker") {
      try? EmbeddedBrokerServer.serve(controlSocket: socketPath, input: descriptors.0, output: descriptors.1)
    }
    #expect(try output.fileHandleForReading.read(upToCount: 6) == Data("ready ".utf8))
    let connection = try UnixSocket.connect(socketPath)
    defer { close(connection) }
    _ = UnixSocket.write(String(repeating: "x", count: 2_000), to: connection)
    var byte: UInt8 = 0
    unsafe #expect(read(connection, &byte, 1) <= 0)
    try EmbeddedBrokerControl(socketPath: socketPath).createTopic("first", partitions: 1)
    try input.fileHandleForWriting.close()
    #expect(broker.join(timeoutMilliseconds: 20_000))
  }

  @Test("A setting that librdkafka refuses is named, and its value is not told")
  func secrets() throws {
    var configuration = KafkaConfiguration(bootstrapServers: "127.0.0.1:1", clientID: "test", environment: .real)
    configuration.properties = ["sasl.password": "hunter2", "security.protocol": "hunter3"]
    #expect(!"\(configuration)".contains("hunter"))
    let error = #expect(throws: KafkaError.self) { try KafkaAdmin(configuration: configuration) }
    #expect(error?.kind == .configuration)
    #expect(error?.message.contains("security.protocol") == true)
    #expect(error?.message.contains("hunter") == false)
  }
}
