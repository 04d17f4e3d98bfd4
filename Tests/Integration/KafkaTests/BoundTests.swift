import Testing

@testable import Kafka

@Suite("What a client may hold")
struct BoundTests {
  private func settings(
    _ role: ClientRole, _ properties: [String: String] = [:]
  ) -> [String: String] {
    var configuration = KafkaConfiguration(bootstrapServers: "127.0.0.1:1", clientID: "test", environment: .real)
    configuration.properties = properties
    return Dictionary(configuration.settings(for: role).map { ($0.name, $0.value) }) { $1 }
  }

  @Test("A consumer asks for no more than it may hold, and reads no longer answer")
  func consumer() throws {
    let settings = settings(.consumer(groupID: nil))
    func number(_ name: String) throws -> Int { try #require(settings[name].flatMap { Int($0) }) }
    let ahead = try number("queued.max.messages.kbytes") << 10
    #expect(try ahead + number("fetch.max.bytes") <= 5 << 20)
    #expect(try number("fetch.message.max.bytes") <= number("fetch.max.bytes"))
    // Values are counted in bytes, keys and headers by nobody: each record may be as long as a batch of clients'.
    #expect(try number("queued.min.messages") <= 32)
    #expect(try number("receive.message.max.bytes") == 16 << 20)
  }

  @Test("People's own message.max.bytes makes no setting that librdkafka refuses", arguments: [nil, "1000", "9000000"])
  func properties(messageBytes: String?) throws {
    let properties = messageBytes.map { ["message.max.bytes": $0] } ?? [:]
    var configuration = KafkaConfiguration(bootstrapServers: "127.0.0.1:1", clientID: "test", environment: .real)
    configuration.properties = properties
    let consumer = try KafkaConsumer(configuration: configuration, groupID: nil, topics: ["one"])
    consumer.abandon()
    #expect(settings(.producer, properties)["message.max.bytes"] == messageBytes ?? "1000000")
  }
}
