import AdCore
import TestValues
import Testing

@testable import EdgeCore

@Suite("Whoever is connected, as the edge sees him")
struct VisitorTests {
  private static func list(_ texts: String...) throws -> NetworkList {
    NetworkList(try texts.map { try #require(NetworkAddress($0)) })
  }

  private func visitor(_ peer: String, _ headers: [String: String] = [:], _ rules: VisitorRules) -> Visitor {
    Visitor(peer: peer, header: { headers[$0] }, rules: rules)
  }

  private func sight(_ peer: String, _ headers: [String: String] = [:], _ rules: VisitorRules) throws -> EdgeSight {
    let visitor = visitor(peer, headers, rules)
    var sight = visitor.sight(header: { headers[$0] }, rules: rules)
    sight.network = visitor.network(try NetworkHasher(ring: .sample(1)), now: .sample)
    return sight
  }

  @Test(
    "addresses are read as they are written, and nothing else is",
    arguments: [
      "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.4/33", "1.2.3.4/", "1..2.3", "01x.2.3.4", ":::", "1::2::3", "12345::",
      "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "::/129", "g::", "", "/8", "1.2.3.4/8/8", "::1.2.3", "localhost",
      "+1.2.3.4",
    ])
  func refused(text: String) { #expect(NetworkAddress(text) == nil) }

  @Test("ranges hold what begins with their bits")
  func ranges() throws {
    let list = try Self.list(
      "192.0.2.0/24", "2001:db8::/32", "198.51.100.7", "192.0.2.128/25", "::ffff:203.0.113.0/120")
    for inside in ["192.0.2.0", "192.0.2.255", "2001:db8:ffff::1", "198.51.100.7", "203.0.113.9", "::ffff:192.0.2.9"] {
      #expect(list.contains(try #require(NetworkAddress(inside))), "\(inside)")
    }
    for outside in ["192.0.1.255", "192.0.3.0", "2001:db9::", "198.51.100.8", "::192.0.2.1", "0.0.0.0", "::1"] {
      #expect(!list.contains(try #require(NetworkAddress(outside))), "\(outside)")
    }
    #expect(try !NetworkList([]).contains(#require(NetworkAddress("::"))))
    #expect(NetworkAddress("2001:db8::1")?.household == NetworkAddress("2001:db8::2")?.household)
    #expect(NetworkAddress("192.0.2.1")?.household != NetworkAddress("192.0.2.2")?.household)
  }

  @Test("whom a stranger says that he speaks for, and where he is, nobody believes")
  func proxies() throws {
    var rules = VisitorRules()
    rules.trustedProxies = try Self.list("10.0.0.0/8")
    rules.countryHeader = "x-country"
    let headers = ["x-forwarded-for": "1.1.1.1, 203.0.113.9, 10.2.0.1", "x-country": "de"]
    let stranger = visitor("203.0.113.50", headers, rules)
    #expect(stranger.address == NetworkAddress("203.0.113.50"))
    #expect(try sight("203.0.113.50", headers, rules).country == nil)
    let behind = visitor("10.1.1.1", headers, rules)
    // What stands before the last that is no proxy of ours, anybody may have written.
    #expect(behind.address == NetworkAddress("203.0.113.9"))
    #expect(try sight("10.1.1.1", headers, rules).country == Country("DE"))
    #expect(visitor("10.1.1.1", ["x-forwarded-for": "nonsense"], rules).address == NetworkAddress("10.1.1.1"))
    #expect(try sight("10.1.1.1", ["x-country": "nowhere"], rules).country == nil)
    #expect(try sight("10.1.1.1", ["x-country": "FR, de"], rules).country == Country("DE"))
  }

  @Test("data centres and bots are told by lists, kinds of programs by their agent")
  func lists() throws {
    var rules = VisitorRules()
    rules.dataCentres = try Self.list("198.51.100.0/24")
    rules.botAddresses = try Self.list("192.0.2.7")
    rules.botAgents = [Array("crawler".utf8)]
    #expect(try sight("198.51.100.3", [:], rules).isDataCentre)
    #expect(try !sight("198.51.101.3", [:], rules).isDataCentre)
    #expect(try sight("192.0.2.7", [:], rules).isKnownBot)
    let bot = try sight("192.0.2.8", ["user-agent": "Mozilla/5.0 (compatible; Some-Crawler)"], rules)
    #expect(bot.isKnownBot && bot.agent == .browser)
    // Marks that make another character of its last letter hide nobody.
    #expect(try sight("192.0.2.8", ["user-agent": "crawler\u{301}"], rules).isKnownBot)
    #expect(try sight("192.0.2.8", ["user-agent": "CRAWLER"], rules).isKnownBot)
    #expect(try !sight("192.0.2.8", ["user-agent": "crawle"], rules).isKnownBot)
    #expect(try sight("192.0.2.8", ["user-agent": "Handbill/1.0"], rules).agent == .app)
    #expect(try sight("192.0.2.8", ["user-agent": "curl/8.0"], rules).agent == .tool)
    let plain = try sight("::1", [:], rules)
    let network = plain.network
    #expect(network != nil)
    #expect(
      plain
        == EdgeSight(country: nil, agent: .unknown, isDataCentre: false, isKnownBot: false, network: network))
  }

  @Test("a network is 24 bits of IPv4 or 48 of IPv6; without an address of his own a visitor has none")
  func networks() throws {
    for (address, network) in [
      ("192.0.2.77", "192.0.2.0/24"), ("::ffff:192.0.2.77", "192.0.2.0/24"), ("2001:db8:1:2::3", "2001:db8:1::/48"),
      ("2001:db8::/32", "2001:db8::/32"),
    ] { #expect(NetworkAddress(address)?.network == NetworkAddress(network), "\(address)") }
    var rules = VisitorRules()
    rules.trustedProxies = try Self.list("10.0.0.0/8")
    func network(_ peer: String, for forwarded: String? = nil) throws -> UInt32? {
      try sight(peer, forwarded.map { ["x-forwarded-for": $0] } ?? [:], rules).network
    }
    let here = try #require(try network("192.0.2.1"))
    for same in ["192.0.2.254", "::ffff:192.0.2.3"] { #expect(try network(same) == here, "\(same)") }
    #expect(try network("10.0.0.1", for: "192.0.2.9") == here)
    #expect(try network("192.0.3.1") != here)
    // What a stranger says of an address changes nothing.
    #expect(try network("192.0.2.1", for: "198.51.100.1") == here)
    let there = try #require(try network("2001:db8:1:2::3"))
    #expect(try network("2001:db8:1:ffff::9") == there)
    #expect(try network("2001:db8:2::3") != there)
    // A proxy's own network says nothing of its clients.
    #expect(try network("10.0.0.1") == nil)
    #expect(try network("10.0.0.1", for: "unknown") == nil)
    #expect(try network("here") == nil)
  }

  @Test("origins are pairs of app and origin, and nothing else")
  func origins() throws {
    let origins = try #require(
      AllowedOrigins("chess=https://chess.example, go=https://chess.example,go=http://localhost:8000"))
    let chess = try #require(AppID("chess"))
    let go = try #require(AppID("go"))
    #expect(origins.allows("https://chess.example", app: chess) && origins.allows("https://chess.example", app: go))
    #expect(origins.allows("http://localhost:8000", app: go) && !origins.allows("http://localhost:8000", app: chess))
    #expect(!origins.isKnown("https://other.example") && !origins.isKnown("null"))
    for wrong in [
      "chess", "chess=*", "chess=chess.example", "chess=https://a.example/path", "Chess=https://a.example",
      "=https://a",
    ] {
      #expect(AllowedOrigins(wrong) == nil, "\(wrong)")
    }
  }
}
