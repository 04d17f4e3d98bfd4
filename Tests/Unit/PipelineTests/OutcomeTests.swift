import AdCore
import AdEvents
import Testing

@testable import Pipeline

@Suite("I3: outcomes in words")
struct OutcomeTests {
  @Test("every outcome has words of its own, which say what it is")
  func words() {
    let plain: [Outcome] = [
      .absent, .accepted, .duplicate, .forwarded, .parked, .ahead, .noted, .suspense, .impossible, .pastDeadline,
    ]
    let all =
      plain + ClickVerdict.allCases.map(Outcome.free) + AdError.allCases.map(Outcome.refused)
      + RejectionReason.allCases.map(Outcome.rejected)
    #expect(Set(all.map { "\($0.kind) \($0.reason)" }).count == all.count)
    for outcome in plain { #expect(outcome.reason == "" && outcome.kind.allSatisfy(\.isLetter), "\(outcome)") }
    for outcome in all.dropFirst(plain.count) {
      #expect(["free", "refused", "rejected"].contains(outcome.kind), "\(outcome)")
      #expect(!outcome.reason.isEmpty && outcome.reason.allSatisfy(\.isLetter), "\(outcome)")
    }
  }

  @Test(
    "metrics say what their numbers meant",
    arguments: [
      (2, "duplicate", ""), (18, "free", "repeat"), (24, "free", "impossible"), (36, "refused", "configurationError"),
      (48, "pastDeadline", ""), (74, "rejected", "tokenForged"), (82, "rejected", "refusedByDatabase"),
      // Numbers without a meaning yet are told as they are.
      (15, "outcome15", ""), (31, "free", "15"), (255, "rejected", "255"),
    ] as [(UInt8, String, String)])
  func known(number: UInt8, kind: String, reason: String) {
    #expect(Outcome(rawValue: number).kind == kind)
    #expect(Outcome(rawValue: number).reason == reason)
  }
}
