import AdCore
import TestValues
import Testing

@testable import Edge
@testable import EdgeCore
@testable import HTTP

@Suite("The edge's rates", .serialized)
struct EdgeRateTests {
  @Test("rates count a household's addresses of IPv6 as one, and the same client id of two apps as two")
  func parties() throws {
    let gate = EdgeGate(rates: [.address: Rate(perSecond: 1), .client: Rate(perSecond: 1)])
    let addresses = (1...30).map { NetworkAddress("2001:db8::\($0)") }
    #expect((10...15).contains(addresses.count { (try? gate.admit($0)) != nil }))
    #expect(throws: Never.self) { try gate.admit(NetworkAddress("2001:db8:0:1::1")) }
    let weather = known(AppID("weather"))
    #expect((10...15).contains((0..<30).count { _ in (try? gate.admit(clientKey: "client-1", of: weather)) != nil }))
    #expect(throws: Never.self) { try gate.admit(clientKey: "client-1", of: known(AppID("chess"))) }
    // What a request costs besides is refused with time enough to come again, which costs one more.
    let busy = NetworkAddress("192.0.2.1")
    try gate.admit(busy)
    try gate.admit(busy, further: 9)
    let refusal = #expect(throws: EdgeRefusal.self) { try gate.admit(busy, further: 9) }
    #expect((6...10).contains(refusal?.retryAfterSeconds ?? 0), "\(String(describing: refusal))")
    #expect(throws: Never.self) { try gate.admit(busy, further: 0) }
  }

  @Test("an address's connections are counted with those with which its requests are")
  func households() throws {
    let addresses = try ["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", "::1"].map {
      try #require(NetworkAddress($0))
    }
    for one in addresses {
      for other in addresses {
        #expect((one.household == other.household) == (household(one) == household(other)), "\(one), \(other)")
      }
    }
  }

  private func household(_ address: NetworkAddress) -> Household {
    Household(high: UInt64(truncatingIfNeeded: address.bits >> 64), low: UInt64(truncatingIfNeeded: address.bits))
  }

  @Test("a batch of a hundred events takes of its client's and its address's allowance what ten requests take")
  func batches() throws {
    let hundred = (0..<100).map { "event-\($0)" }
    for setting in ["HANDBILL_EDGE_CLIENT_RATE", "HANDBILL_EDGE_ADDRESS_RATE"] {
      let edge = try RunningEdge([setting: "2"])
      try edge.publishCatalog()
      let statuses = try (0..<5).map { _ in
        try HTTPClient.send(
          "POST", edge.base + "/v1/events", headers: [("Content-Type", "application/protobuf")],
          body: RunningEdge.batch(hundred), timeoutMilliseconds: 60_000
        ).status
      }
      #expect(statuses.prefix(2) == [200, 200] && statuses.contains(429), "\(setting): \(statuses)")
      #expect(edge.stop())
    }
  }
}
