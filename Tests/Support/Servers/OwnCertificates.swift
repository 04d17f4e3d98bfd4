import Foundation
import LocalProcesses

/// A certificate authority of our own, made with openssl, with the certificates of a server on this machine and of those
/// who use it.
package struct OwnCertificates: Sendable {
  /// A certificate and its key, as paths of PEM files.
  package struct Identity: Sendable {
    package let certificate: String
    package let key: String
  }

  package let folder: String
  /// What everybody checks others by.
  package var authority: String { "\(folder)/ca.pem" }
  package let server: Identity

  /// Makes the authority and the server's certificate in a folder that is there.
  ///
  /// - Throws: `SupervisionError` without openssl.
  package init(folder: String, serverName: String) throws {
    self.folder = folder
    server = Identity(certificate: "\(folder)/server.pem", key: "\(folder)/server.key")
    try Self.openssl(
      ["req", "-x509"] + Self.newKey + [
        "-subj", "/CN=Test authority", "-keyout", "\(folder)/ca.key", "-out", authority,
      ])
    try sign(server, name: serverName, ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
  }

  /// A new certificate for whoever is to be called `name`.
  package func client(_ name: String) throws -> Identity {
    let identity = Identity(certificate: "\(folder)/\(name).pem", key: "\(folder)/\(name).key")
    if !FileManager.default.fileExists(atPath: identity.certificate) { try sign(identity, name: name) }
    return identity
  }

  /// The server's key and certificate in one file, as Kafka wants them.
  package func serverStore() throws -> String {
    let texts = try [server.key, server.certificate].map { try String(contentsOfFile: $0, encoding: .utf8) }
    try texts.joined().write(toFile: "\(folder)/store.pem", atomically: true, encoding: .utf8)
    return "\(folder)/store.pem"
  }

  private func sign(_ identity: Identity, name: String, _ extensions: [String] = []) throws {
    try Self.openssl(
      ["req", "-x509", "-CA", authority, "-CAkey", "\(folder)/ca.key"] + Self.newKey + extensions + [
        "-addext", "basicConstraints=critical,CA:FALSE", "-subj", "/CN=\(name)", "-keyout", identity.key, "-out",
        identity.certificate,
      ])
    // PostgreSQL takes no key that others may read.
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: identity.key)
  }

  private static let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]

  private static func openssl(_ arguments: [String]) throws {
    try ChildProcess.run(ChildProcess.Command("/usr/bin/openssl", arguments))
  }
}
