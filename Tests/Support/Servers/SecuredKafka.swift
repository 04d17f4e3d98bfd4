import Foundation
import LocalProcesses

/// A real broker as it should be: TLS in both directions by an authority of our own, and access rules without which
/// nothing is allowed to anybody but its super user. Names are those of the certificates.
///
/// Certificates and not SCRAM: librdkafka before 2.6.1 repeats its nonce, which Kafka 4 refuses.
package final class SecuredKafka: Sendable {
  package static let superUser = "handbill-admin"
  private static let brokerName = "handbill-broker"

  package let certificates: OwnCertificates
  private let broker: LocalKafka
  private let folder: TemporaryFolder

  /// A broker that answers. Blocks.
  package init() throws {
    let folder = try TemporaryFolder(prefix: "hbk")
    self.folder = folder
    certificates = try OwnCertificates(folder: folder.path, serverName: Self.brokerName)
    let ports = try FreePort.find(count: 2)
    broker = try LocalKafka(
      LocalKafka.Configuration(
        folder: folder.path, port: ports[0], settings: try Self.settings(certificates, ports), heapMegabytes: 384,
        isShortLived: true, controllerPort: ports[1]))
    try broker.startAndWait()
  }

  package var bootstrapServers: String { broker.bootstrapServers }

  /// What a client of this name sets, by librdkafka's names.
  ///
  /// - Parameter authority: who made its certificate, if another than the broker knows.
  package func properties(of name: String, by authority: OwnCertificates? = nil) throws -> [String: String] {
    let identity = try (authority ?? certificates).client(name)
    return [
      "security.protocol": "SSL", "ssl.ca.location": certificates.authority,
      "ssl.certificate.location": identity.certificate, "ssl.key.location": identity.key,
    ]
  }

  /// The same for `HANDBILL_KAFKA_PROPERTIES`.
  package func propertiesText(of name: String) throws -> String {
    try properties(of: name).map { "\($0.key)=\($0.value)" }.sorted().joined(separator: ",")
  }

  package func stop() { broker.killAndWait() }

  private static func settings(_ certificates: OwnCertificates, _ ports: [Int]) throws -> [String: String] {
    [
      "listener.security.protocol.map": "CLIENTS:SSL,CONTROLLER:PLAINTEXT",
      "listeners": "CLIENTS://127.0.0.1:\(ports[0]),CONTROLLER://127.0.0.1:\(ports[1])",
      "advertised.listeners": "CLIENTS://127.0.0.1:\(ports[0])", "inter.broker.listener.name": "CLIENTS",
      "ssl.client.auth": "required", "ssl.principal.mapping.rules": "RULE:^CN=([^,]+)$/$1/,DEFAULT",
      "ssl.keystore.type": "PEM", "ssl.keystore.location": try certificates.serverStore(),
      "ssl.truststore.type": "PEM", "ssl.truststore.location": certificates.authority,
      "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
      // Nameless is only the broker to its own controller, whose port no client uses.
      "super.users": "User:\(superUser);User:\(brokerName);User:ANONYMOUS", "allow.everyone.if.no.acl.found": "false",
    ]
  }
}
