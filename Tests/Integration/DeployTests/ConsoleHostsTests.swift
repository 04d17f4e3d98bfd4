import HTTP
import Runtime
import Testing

@testable import Console

/// DNS rebinding: a page of somebody else's lets its own name lead to the console.
@Suite struct ConsoleHostsTests {
  private func isAnswered(_ host: String?, by names: [String] = []) -> Bool {
    let headers = host.map { [(name: "host", value: $0)] } ?? []
    do throws(HTTPProblem) {
      try ConsoleHosts(names).check(HTTPRequest(method: .get, path: "/", headers: headers))
      return true
    } catch {
      #expect(error.status == 421 && error.detail.contains("HANDBILL_CONSOLE_HOSTS"))
      return false
    }
  }

  @Test("a name of the internet is answered only where the settings have it")
  func rebinding() {
    for host in ["evil.example", "evil.example:9300", "EVIL.example.", "127.0.0.1.evil.example", "1.2.3.4.x", "a.b"] {
      #expect(!isAnswered(host), "\(host)")
      #expect(!isAnswered(host, by: ["ads.example", "example"]), "\(host)")
    }
    for host in ["ads.example", "Ads.Example:9300", "ads.example."] {
      #expect(isAnswered(host, by: ["ads.example"]), "\(host)")
    }
  }

  @Test("an address and a name without a dot lead nowhere else")
  func own() {
    for host in [nil, "localhost:9300", "console", "127.0.0.1:9300", "10.1.2.3", "[::1]:9300", "[fe80::1]"] {
      #expect(isAnswered(host), "\(host ?? "none")")
    }
  }
}
