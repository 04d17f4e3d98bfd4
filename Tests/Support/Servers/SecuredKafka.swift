import Foundation
import LocalProcesses

/// A real broker as it should be: TLS by an authority of our own, and access rules without which nothing is allowed to
/// anybody but its super user. Names are those of the certificates, or, by another port, of users with passwords (PLAIN:
/// SCRAM is not for every librdkafka).
package final class SecuredKafka: Sendable {
  package static let superUser = "handbill-admin"
  private static let brokerName = "handbill-broker"

  package let certificates: OwnCertificates
  private let broker: LocalKafka
  private let passwordPort: Int
  private let folder: TemporaryFolder

  /// A broker that answers. Blocks.
  ///
  /// - Parameter users: who has a password.
  package init(users: [String] = []) throws {
    let folder = try TemporaryFolder(prefix: "hbk")
    self.folder = folder
    certificates = try OwnCertificates(folder: folder.path, serverName: Self.brokerName)
    let ports = try FreePort.find(count: 3)
    passwordPort = ports[2]
    broker = try LocalKafka(
      LocalKafka.Configuration(
        folder: folder.path, port: ports[0], settings: try Self.settings(certificates, ports, users),
        heapMegabytes: 384, isShortLived: true, controllerPort: ports[1]))
    try broker.startAndWait()
  }

  package var bootstrapServers: String { broker.bootstrapServers }
  /// Where a password is asked for in place of a certificate.
  package var passwordServers: String { "127.0.0.1:\(passwordPort)" }

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

  /// The same where passwords are asked for.
  package func passwordProperties(of name: String, password: String? = nil) -> [String: String] {
    [
      "security.protocol": "SASL_SSL", "ssl.ca.location": certificates.authority, "sasl.mechanism": "PLAIN",
      "sasl.username": name, "sasl.password": password ?? Self.password(of: name),
    ]
  }

  /// As `HANDBILL_KAFKA_PROPERTIES` has it.
  package static func text(_ properties: [String: String]) -> String {
    properties.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: ",")
  }

  private static func password(of name: String) -> String { "the password of \(name)" }

  package func stop() { broker.killAndWait() }

  private static func settings(
    _ certificates: OwnCertificates, _ ports: [Int], _ users: [String]
  ) throws -> [String: String] {
    let clients = "CLIENTS://127.0.0.1:\(ports[0]),PASSWORDS://127.0.0.1:\(ports[2])"
    let passwords = users.map { " user_\($0)=\"\(password(of: $0))\"" }.joined()
    return [
      "listener.security.protocol.map": "CLIENTS:SSL,PASSWORDS:SASL_SSL,CONTROLLER:PLAINTEXT",
      "listeners": "\(clients),CONTROLLER://127.0.0.1:\(ports[1])", "advertised.listeners": clients,
      "listener.name.passwords.ssl.client.auth": "none",
      "listener.name.passwords.sasl.enabled.mechanisms": "PLAIN",
      "listener.name.passwords.plain.sasl.jaas.config":
        "org.apache.kafka.common.security.plain.PlainLoginModule required\(passwords);",
      "inter.broker.listener.name": "CLIENTS",
      "ssl.client.auth": "required", "ssl.principal.mapping.rules": "RULE:^CN=([^,]+)$/$1/,DEFAULT",
      "ssl.keystore.type": "PEM", "ssl.keystore.location": try certificates.serverStore(),
      "ssl.truststore.type": "PEM", "ssl.truststore.location": certificates.authority,
      "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
      // Nameless is only the broker to its own controller, whose port no client uses.
      "super.users": "User:\(superUser);User:\(brokerName);User:ANONYMOUS", "allow.everyone.if.no.acl.found": "false",
    ]
  }
}
