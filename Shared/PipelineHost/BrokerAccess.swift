package import Kafka
package import Runtime
internal import Threads

/// Whether the brokers let anybody do anything: whoever reaches open ones can charge any advertiser and pay any developer.
package enum BrokerAccess {
  private static let questionMilliseconds: Int32 = 5_000
  /// At first all else is more urgent.
  static let firstMilliseconds = 2_000
  private static let againMilliseconds = 10_000

  /// What is open, in words; nothing where all is as it should be.
  ///
  /// - Parameters:
  ///   - properties: librdkafka's settings, as people have given them.
  ///   - hasRules: whether the brokers refuse what nobody has allowed; nil while that is not known.
  package static func openings(properties: [String: String], hasRules: Bool?) -> [String] {
    let connection = (properties["security.protocol"] ?? "plaintext").lowercased()
    let hasCertificate = ["ssl.certificate.location", "ssl.certificate.pem", "ssl.keystore.location"].contains {
      properties[$0] != nil
    }
    var openings: [String] = []
    if !connection.hasSuffix("ssl") { openings.append("what is sent can be read and changed on the way (no TLS)") }
    if !connection.hasPrefix("sasl"), !hasCertificate { openings.append("nobody has to say who he is (no SASL)") }
    if hasRules == false { openings.append("everybody may read and write everything (no authorizer)") }
    return openings
  }

  /// Says once, as a warning, what is open; nobody waits for it. The embedded broker, on loopback, is meant to be.
  package static func warn(_ kafka: KafkaConfiguration, context: ServiceContext) {
    let openingsGauge = context.metrics.gauge(HostMetrics.brokerOpenings)
    guard kafka.environment != .embedded else { return }
    let stop = context.lifeCycle.stopRequest
    // Whoever ends does not wait for an answer.
    _ = OwnerThread("broker-access") {
      var pause = firstMilliseconds
      while !stop.wait(milliseconds: pause) {
        pause = againMilliseconds
        guard let hasRules = hasRules(kafka) else { continue }
        let openings = openings(properties: kafka.properties, hasRules: hasRules)
        openingsGauge.set(Double(openings.count))
        guard !openings.isEmpty else { return }
        context.logger.warning(
          "the brokers are open: see docs/operations.md, \"Who may do what\", and 'handbill topics acls'",
          ["openings": .text(openings.joined(separator: "; "))])
        return
      }
    }
  }

  /// Nil while nobody answers.
  private static func hasRules(_ kafka: KafkaConfiguration) -> Bool? {
    guard let admin = try? KafkaAdmin(configuration: kafka) else { return nil }
    defer { admin.close(timeoutMilliseconds: 0) }
    return try? admin.hasAccessRules(timeoutMilliseconds: questionMilliseconds)
  }
}
