package import AdCore
internal import AdEvents

/// Against whose limits a click counts. Test traffic never weighs against live one (A2), even where an app gives both
/// the same client id.
package struct ClickClient: Hashable, Sendable {
  package var hash: UInt64
  package var isTest: Bool

  package init(hash: UInt64, isTest: Bool) {
    self.hash = hash
    self.isTest = isTest
  }

  package init(of terms: ServedTerms) { self.init(hash: terms.clientHash, isTest: terms.isTest) }
}

/// Where a click stands among all of its partition: in the order in which they came. Offsets alone would not do, for a
/// log that replaces another begins again at 0.
package struct ClickPosition: Hashable, Comparable, Sendable {
  /// The batch that took the click.
  package var batchNumber: Int64
  package var offset: Int64

  package init(batchNumber: Int64, offset: Int64) {
    self.batchNumber = batchNumber
    self.offset = offset
  }

  package static func < (left: ClickPosition, right: ClickPosition) -> Bool {
    (left.batchNumber, left.offset) < (right.batchNumber, right.offset)
  }
}

/// What is known of one client's clicks, and the rule by which they are judged: in the order in which they came, each as
/// if all views had come before it.
package struct ClientClicks: Sendable {
  /// How many clicks of a served ad are judged, and as many accidental ones beside them; later ones are repeats (M4).
  package static let ofServeMaximum = 4

  /// A click that has a verdict of its own.
  package struct Judged: Hashable, Sendable {
    package var serveID: ServeID
    package var eventTime: Timestamp
    package var isAccidental: Bool
    package var isBillable: Bool

    package init(serveID: ServeID, eventTime: Timestamp, isAccidental: Bool, isBillable: Bool) {
      self.serveID = serveID
      self.eventTime = eventTime
      self.isAccidental = isAccidental
      self.isBillable = isBillable
    }
  }

  package struct Decided: Hashable, Sendable {
    package var click: ParkedClick
    package var verdict: ClickVerdict
  }

  /// Those that may matter to what is asked, in no order.
  package var judged: [Judged] = []
  /// All that have no verdict yet, in the order of their positions.
  package var waiting: [ParkedClick] = []

  package init() {}

  // MARK: Which clicks are judged

  /// The verdict of a click that is not judged, because too many came before it; nil for one that is. Accidental clicks
  /// are counted apart: a thumb that slips four times takes nothing from the tap that is meant (M4, M7).
  ///
  /// It follows from what came before alone, not from what is decided of it by now. So it bounds how many clicks of a
  /// client can wait, whatever their views do.
  func refusal(of click: ParkedClick, windows: Windows) -> ClickVerdict? {
    let serve = click.terms.serveID
    var ofServe = 0
    var ofDay = 0
    func count(_ other: ServeID, _ isAccidental: Bool) {
      guard isAccidental == click.isAccidental, other.day == serve.day else { return }
      ofDay += 1
      if other == serve { ofServe += 1 }
    }
    for earlier in judged { count(earlier.serveID, earlier.isAccidental) }
    for earlier in waiting { count(earlier.terms.serveID, earlier.isAccidental) }
    if ofServe >= Self.ofServeMaximum { return .repeat }
    return ofDay >= windows.judgedClicksOfClientPerDay ? .limited : nil
  }

  // MARK: Verdicts

  /// Decides every waiting click whose verdict stands by now, in order.
  ///
  /// A verdict may depend on earlier clicks that still wait. Two sets enclose those that will count in the end: the
  /// earlier clicks that are billable, and these with all that may become so. More counted clicks never make room:
  /// ``ClickLimit/admits(_:counted:)`` looks for a window with too many, and a window only gains. So a click that the
  /// larger set admits is billable, and one that the smaller set does not admit is limited, however the others end; that
  /// is what it would be had all views come first. Otherwise it waits until enough of the earlier ones are decided.
  ///
  /// Both sets may hold billable clicks that came later and were decided first: they change nothing. Of those in a
  /// window with this click, the last to come was admitted beside all others, this one included, so the window is not
  /// too full; and windows without them are as they were.
  ///
  /// - Parameter seenAt: When ads were seen, as far as it is known.
  mutating func resolve(seenAt: [ServeID: Timestamp], windows: Windows) -> [Decided] {
    var earlier = EarlierClicks(judged, windows: windows)
    var decided: [Decided] = []
    waiting = waiting.filter { click in
      let judgement = earlier.judge(click, seenAt: seenAt[click.terms.serveID])
      earlier.note(judgement, of: click)
      guard case .stands(let verdict) = judgement else { return true }
      decided.append(Decided(click: click, verdict: verdict))
      return false
    }
    judged += decided.map(Judged.init)
    return decided
  }

  /// The view of this serve does not come (M5): takes its clicks out.
  mutating func giveUp(_ serve: ServeID) -> [Decided] {
    let decided = waiting.filter { $0.terms.serveID == serve }.map { Decided(click: $0, verdict: .noImpression) }
    waiting.removeAll { $0.terms.serveID == serve }
    judged += decided.map(Judged.init)
    return decided
  }
}

extension ClientClicks.Judged {
  init(_ decided: ClientClicks.Decided) {
    self.init(
      serveID: decided.click.terms.serveID, eventTime: decided.click.eventTime,
      isAccidental: decided.click.isAccidental, isBillable: decided.verdict == .billable)
  }
}

extension ServeID {
  /// The day (UTC) on which the ad was served, in days since 1970.
  var day: Int64 { timestamp.milliseconds / Windows.dayMilliseconds }
}

extension ClosedRange<Timestamp> {
  func extended(to time: Timestamp) -> Self { Swift.min(lowerBound, time)...Swift.max(upperBound, time) }
}
