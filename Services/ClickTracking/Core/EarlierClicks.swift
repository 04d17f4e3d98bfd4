internal import AdCore
internal import AdEvents

/// The clicks of a client before the one that is looked at, as far as they bear on its verdict. Clicks are judged and
/// noted in the order in which they came.
struct EarlierClicks {
  enum Judgement: Hashable {
    case stands(ClickVerdict)
    /// It is not known yet; whether the click may turn out billable.
    case isOpen(mayCount: Bool)
  }

  private let windows: Windows
  /// When the billable ones happened, ascending.
  private var certain: [Timestamp] = []
  /// When these and all that may become billable happened, ascending.
  private var possible: [Timestamp] = []
  private var billableServes: Set<ServeID> = []
  /// Serves with a click that may become billable.
  private var openServes: Set<ServeID> = []

  init(_ judged: [ClientClicks.Judged], windows: Windows) {
    self.windows = windows
    for click in judged where click.isBillable { count(click.eventTime, of: click.serveID) }
  }

  /// What can be said of a click. The reasons stand in the order in which they prevail: what cannot be (B8), what the
  /// tap itself says, then M5, then M4, and the client's limits last.
  func judge(_ click: ParkedClick, seenAt: Timestamp?) -> Judgement {
    let isOverLimit = windows.clickLimitReached(at: click.eventTime, counted: certain) != nil
    guard let seenAt else { return .isOpen(mayCount: !click.isAccidental && !isOverLimit) }
    switch windows.tapTiming(impressionAt: seenAt, tapAt: click.eventTime) {
    case .impossible: return .stands(.impossible)
    case _ where click.isAccidental: return .stands(.accidental)
    case .tooEarly: return .stands(.tooEarly)
    case .tooLate: return .stands(.tooLate)
    case .inTime: break
    }
    let serve = click.terms.serveID
    if billableServes.contains(serve) { return .stands(.repeat) }
    // An earlier click on the same ad may become the billable one; this one is a repeat then, else it is limited or not.
    if openServes.contains(serve) { return .isOpen(mayCount: !isOverLimit) }
    if isOverLimit { return .stands(.limited) }
    let isAdmitted = windows.clickLimitReached(at: click.eventTime, counted: possible) == nil
    return isAdmitted ? .stands(.billable) : .isOpen(mayCount: true)
  }

  /// The click is passed: it weighs on those behind it.
  mutating func note(_ judgement: Judgement, of click: ParkedClick) {
    switch judgement {
    case .stands(.billable): count(click.eventTime, of: click.terms.serveID)
    case .stands, .isOpen(mayCount: false): break
    case .isOpen(mayCount: true):
      possible.insertSorted(click.eventTime)
      openServes.insert(click.terms.serveID)
    }
  }

  private mutating func count(_ time: Timestamp, of serve: ServeID) {
    certain.insertSorted(time)
    possible.insertSorted(time)
    billableServes.insert(serve)
  }
}

extension [Timestamp] {
  /// Puts `time` in its place among ascending times.
  fileprivate mutating func insertSorted(_ time: Timestamp) {
    insert(time, at: lastIndex { $0 <= time }.map { $0 + 1 } ?? 0)
  }
}
