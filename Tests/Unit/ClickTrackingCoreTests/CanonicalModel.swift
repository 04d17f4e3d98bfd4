import AdCore
import AdEvents

@testable import ClickTrackingCore

/// A tap as its device made it.
struct Tap: Hashable {
  var terms: ServedTerms
  var id: UInt64
  var age: Int64
  var hasLeft = true

  var time: Timestamp { terms.issuedAt.advanced(byMilliseconds: age) }
  var event: ClickInput { Samples.click(terms, id: id, age: age, left: hasLeft) }
}

/// The rule of the verdicts, worked out from the events alone: taps in the order in which they came, all views known.
/// As plain as can be, and none of the service's code but the settings.
struct CanonicalModel {
  private struct Serves: Hashable {
    var id: ServeID
    var isAccidental: Bool
  }

  private struct Day: Hashable {
    var client: UInt64
    var isTest: Bool
    var number: Int64
    var isAccidental: Bool
  }

  private let windows: Windows
  /// The age at which each ad was seen; others never are.
  private let views: [ServeID: Int64]
  private var seen: Set<[UInt64]> = []
  private var judgedOfServe: [Serves: Int] = [:]
  private var judgedOfDay: [Day: Int] = [:]
  private var billable: [Tap] = []
  private(set) var verdicts: [UInt64: ClickVerdict] = [:]

  init(_ taps: [Tap], views: [ServeID: Int64], windows: Windows) {
    self.windows = windows
    self.views = views
    for tap in taps where seen.insert([tap.terms.serveID.high, tap.terms.serveID.low, tap.id]).inserted {
      verdicts[tap.id] = verdict(of: tap)
      if verdicts[tap.id] == .billable { billable.append(tap) }
    }
  }

  private mutating func verdict(of tap: Tap) -> ClickVerdict {
    let serves = Serves(id: tap.terms.serveID, isAccidental: !tap.hasLeft)
    let day = Day(
      client: tap.terms.clientHash, isTest: tap.terms.isTest, number: tap.terms.issuedAt.milliseconds / 86_400_000,
      isAccidental: !tap.hasLeft)
    if judgedOfServe[serves, default: 0] == 4 { return .repeat }
    if judgedOfDay[day, default: 0] == windows.judgedClicksOfClientPerDay { return .limited }
    judgedOfServe[serves, default: 0] += 1
    judgedOfDay[day, default: 0] += 1
    guard let viewAge = views[tap.terms.serveID] else { return .noImpression }
    let delay = tap.age - viewAge
    if delay < -1_000 { return .impossible }
    if !tap.hasLeft { return .accidental }
    if delay < 100 { return .tooEarly }
    if delay > 3_600_000 { return .tooLate }
    if billable.contains(where: { $0.terms.serveID == tap.terms.serveID }) { return .repeat }
    let own = billable.filter { $0.terms.clientHash == tap.terms.clientHash && $0.terms.isTest == tap.terms.isTest }
    let times = (own + [tap]).map(\.time.milliseconds)
    let isLimited = [(1, 1), (3, 10), (10, 60), (25, 1_440)].contains { most, minutes in
      times.contains { start in times.count { $0 >= start && $0 < start + Int64(minutes) * 60_000 } > most }
    }
    return isLimited ? .limited : .billable
  }
}
