import AdBasics
import Testing

@testable import AdClient

@Suite("When a request over the edge is asked again")
struct EdgeAskingTests {
  private var chance = SeededChance(seed: 1)

  private func answer(_ status: Int, retryAfter: String? = nil) -> EdgeConnection.Outcome {
    .answer(EdgeAnswer(status: status, body: []) { $0 == "Retry-After" ? retryAfter : nil })
  }

  private mutating func pause(
    _ asking: inout EdgeAsking, after outcome: EdgeConnection.Outcome, at now: Int64 = 0
  ) -> Int64? {
    asking.pause(after: outcome, at: ms(now), using: &chance)
  }

  @Test("A proxy that reaches no edge is asked after random pauses, their bound doubling from 500 ms to the deadline")
  mutating func backsOff() {
    var askings = 0
    var pauses: Set<Int64> = []
    for _ in 0..<200 {
      var asking = EdgeAsking(deadline: ms(10_000))
      var (now, bound) = (Int64(0), Int64(500))
      while let pause = pause(&asking, after: answer(502), at: now) {
        #expect(pause <= bound)
        now += pause
        bound *= 2
        askings += 1
        pauses.insert(pause)
      }
      #expect(now < 10_000)
    }
    #expect(askings < 200 * 8, "some five each, and not twenty")
    #expect(pauses.count > 100, "many clients do not come back together")
  }

  @Test("Retry-After is waited for, and where it goes beyond the deadline the answer stands")
  mutating func retryAfter() {
    var asking = EdgeAsking(deadline: ms(10_000))
    #expect(pause(&asking, after: answer(502, retryAfter: "3")).map { $0 >= 3_000 } == true)
    #expect(pause(&asking, after: answer(503, retryAfter: "30")) == nil)
  }

  @Test("M1: what never arrived is not asked again, unless an earlier asking may have arrived")
  mutating func neverArrived() {
    let never = EdgeConnection.Outcome.unreachable("nobody", mayHaveArrived: false)
    var asking = EdgeAsking(deadline: ms(10_000))
    #expect(pause(&asking, after: never) == nil)
    #expect(pause(&asking, after: answer(503)) == nil, "the edge takes nothing now, and has nothing")
    #expect(pause(&asking, after: .unreachable("broken off", mayHaveArrived: true)) != nil)
    #expect(pause(&asking, after: never) != nil)
    #expect(pause(&asking, after: answer(503)) != nil)
    #expect(pause(&asking, after: answer(429)) == nil)
  }

  @Test(
    "Where TLS does not come about nothing has arrived; where the connection breaks later it may have",
    arguments: [("https", false), ("http", true)])
  func brokenOff(scheme: String, mayHaveArrived: Bool) async throws {
    let server = SmallServer { _, _ in SmallServer.Reply(status: 0) }
    defer { server.stop() }
    let edge = try #require(EdgeConnection("\(scheme)://127.0.0.1:\(server.port)"))
    let outcome = await withCheckedContinuation { continuation in
      edge.post("v1/ads", [1], timeoutMilliseconds: 20_000) { continuation.resume(returning: $0) }
    }
    guard case .unreachable(_, mayHaveArrived) = outcome else {
      Issue.record("\(outcome)")
      return
    }
  }
}
