import AdBasics
import Foundation
import LocalProcesses
import Pictures
import TestServers
import Testing

@Suite("The edge by TLS, with curl", .enabled(if: Curl.isInstalled, "curl is needed: deploy/install tests installs it"))
struct EdgeTLSTests {
  @Test("TLS by files: curl that trusts the authority is answered, one that does not hangs up, plain HTTP gets nothing")
  func curl() throws {
    let folder = try TemporaryFolder(prefix: "hbe")
    let certificates = try OwnCertificates(folder: folder.path, serverName: "edge")
    let edge = try RunningEdge([
      "HANDBILL_EDGE_CERTIFICATE_FILE": certificates.server.certificate,
      "HANDBILL_EDGE_PRIVATE_KEY_FILE": certificates.server.key,
    ])
    defer { edge.stop() }
    let picture = try #require(SamplePicture.images(of: "handbill-test-cover")[.phoneBannerPortrait])
    let path = "localhost:\(edge.port)\(ImageReference(picture).url)"
    func curl(_ arguments: String...) throws -> [String] {
      try ChildProcess.run(
        .init(Curl.path, ["-sS", "-o", "/dev/null", "-w", "%{http_code} %{ssl_verify_result}\n"] + arguments))
    }
    #expect(try curl("--cacert", certificates.authority, "https://\(path)") == ["200 0"])
    #expect(try curl("--cacert", certificates.authority, "--tlsv1.3", "https://\(path)") == ["200 0"])
    #expect(throws: SupervisionError.self) { try curl("https://\(path)") }
    #expect(throws: SupervisionError.self) { try curl("http://\(path)") }
    #expect(throws: SupervisionError.self) {
      try curl("--cacert", certificates.authority, "--tls-max", "1.1", "https://\(path)")
    }
  }
}

/// A client that is not ours.
private enum Curl {
  static let path = "/usr/bin/curl"
  static let isInstalled = FileManager.default.isExecutableFile(atPath: path)
}
