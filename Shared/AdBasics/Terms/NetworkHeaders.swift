/// Kafka headers of the network's own.
package enum NetworkHeaders {
  /// Carries the MAC of a message between services.
  package static let messageMAC: StaticString = "handbill_mac"
}
