internal import CLibrdkafka

/// What the version of librdkafka in use cannot do.
package enum KafkaLibrary {
  private static let withSoundSCRAM: Int32 = 0x0206_0100

  /// Before 2.6.1 it repeats its nonce in SASL/SCRAM, which Kafka since 3.7.2, 3.8.1 and 4.0 refuses as invalid credentials.
  package static var hasSoundSCRAM: Bool { rd_kafka_version() >= withSoundSCRAM }

  /// Why a client with these settings is not let in although its password is right; nil where that cannot be.
  package static func refusal(of properties: [String: String]) -> String? {
    let mechanism = properties["sasl.mechanism"] ?? properties["sasl.mechanisms"] ?? ""
    guard mechanism.hasPrefix("SCRAM-"), !hasSoundSCRAM else { return nil }
    return
      "this librdkafka repeats its nonce in SASL/SCRAM, which Kafka since 3.7.2 refuses: take certificates, or PLAIN"
  }
}
