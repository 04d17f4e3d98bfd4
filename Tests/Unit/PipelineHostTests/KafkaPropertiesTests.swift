import Kafka
import PipelineHost
import Runtime
import Testing

@Suite("Further librdkafka settings")
struct KafkaPropertiesTests {
  private func mistake(_ text: String) -> KafkaProperties.Mistake? {
    do throws(KafkaProperties.Mistake) {
      _ = try KafkaProperties(text)
      return nil
    } catch { return error }
  }

  @Test("names and values; a value may hold equal signs and, behind a backslash, commas")
  func values() throws {
    let text = #"security.protocol=SASL_SSL, sasl.password=a=b\,c\d,ssl.ca.location="#
    #expect(
      try KafkaProperties(text).values == [
        "security.protocol": "SASL_SSL", "sasl.password": #"a=b,c\d"#, "ssl.ca.location": "",
      ])
  }

  @Test(
    "what is none is refused, and named by its number, not by what it says",
    arguments: [
      ("security.protocol:SASL_SSL", 1), ("a=b,", 2), ("a=b,hunter2", 2), ("=b", 1), ("Security=x", 1), ("", 1),
    ])
  func malformed(_ text: String, _ entry: Int) {
    #expect(mistake(text) == .malformed(entry: entry))
    #expect(!"\(KafkaProperties.Mistake.malformed(entry: entry))".contains("hunter2"))
  }

  @Test("a name twice is refused")
  func twice() { #expect(mistake("a=1,a=2") == .twice(name: "a")) }

  @Test(
    "what the exactly-once protocol rests on cannot be set, under none of librdkafka's names for it",
    arguments: [
      "acks", "request.required.acks", "enable.idempotence", "isolation.level", "auto.offset.reset",
      "message.timeout.ms", "delivery.timeout.ms", "bootstrap.servers", "metadata.broker.list", "max.in.flight",
      "max.in.flight.requests.per.connection", "enable.auto.commit", "auto.commit.enable", "enable.auto.offset.store",
      "transactional.id", "allow.auto.create.topics", "check.crcs", "delivery.report.only.error",
      "enable.partition.eof",
      "group.id", "group.instance.id", "log.queue", "message.send.max.retries", "retries", "partitioner",
    ])
  func reserved(_ name: String) { #expect(mistake("\(name)=0") == .reserved(name: name)) }

  @Test("a wrong text ends the start, and neither it nor a right one is shown")
  func configuration() throws {
    func read(_ text: String) throws(ConfigurationProblems) -> KafkaProperties {
      try ConfigurationReader.read(commandLine: [:], environment: ["HANDBILL_KAFKA_PROPERTIES": text]) {
        $0.value(ConnectionSettings.kafkaPropertiesKey)
      }
    }
    do throws(ConfigurationProblems) {
      _ = try read("sasl.password:hunter2")
      Issue.record("it was taken")
    } catch {
      #expect("\(error)".contains("HANDBILL_KAFKA_PROPERTIES"))
      #expect("\(error)".contains("entry 1 is not name=value"))
      #expect(!"\(error)".contains("hunter2"))
    }
    let right = try read("sasl.password=hunter2")
    #expect(!"\(right)".contains("hunter2"))
  }
}
