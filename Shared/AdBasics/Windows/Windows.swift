/// The network's windows and limits, all of them settings; the values given here are the defaults.
public struct Windows: Hashable, Sendable {
  public static let dayMilliseconds: Int64 = 24 * 3_600_000

  /// A banner's token: from the decision to the impression.
  public var bannerTokenMilliseconds: Int64 = 15 * 60_000
  /// An interstitial's token lives its content's life and this much longer.
  public var interstitialTokenExtraMilliseconds: Int64 = 5 * 60_000
  /// The content's life that a response may name (D5).
  public var contentLifeMilliseconds: ClosedRange<Int64> = 5 * 60_000...15 * 60_000
  /// How long an ad is on screen before it counts as seen (M1). A device that says that it showed one sooner after the
  /// answer, or that it was tapped so long before it was seen, says what cannot be.
  public var viewMilliseconds: Int64 = 1_000
  /// From an impression to a tap that earns (M5).
  public var tapDelayMilliseconds: ClosedRange<Int64> = 100...3_600_000
  /// An action over sooner than this, without leaving the application, was an accident (M7).
  public var accidentalActionMilliseconds: Int64 = 2_000
  /// How long after the event its arrival still counts.
  public var lateArrivalMilliseconds: Int64 = 24 * 3_600_000
  /// How long before an event's arrival its token may have been issued.
  public var issuedBeforeArrivalMilliseconds: Int64 = 26 * 3_600_000
  /// How far two clocks of ours may differ: issued-at and event time may lie this much after arrival.
  public var clockToleranceMilliseconds: Int64 = 5_000
  /// How many clicks of one client may earn in any window of a length.
  public var clickLimits: [ClickLimit] = [
    ClickLimit(clicks: 1, windowMilliseconds: 60_000), ClickLimit(clicks: 3, windowMilliseconds: 10 * 60_000),
    ClickLimit(clicks: 10, windowMilliseconds: 3_600_000), ClickLimit(clicks: 25, windowMilliseconds: 24 * 3_600_000),
  ]
  /// How many clicks of one client on ads served on one day (UTC) are judged, and as many accidental ones beside them;
  /// later ones are limited, whatever their views say. Four for each of the day's 25 that may earn: so nobody can make
  /// others' clicks wait while thousands of his own wait for their views.
  public var judgedClicksOfClientPerDay = 100
  /// From the serving of an ad to a conversion that is put down to it (M8).
  public var conversionMilliseconds: Int64 = 30 * 24 * 3_600_000
  /// The most days that ``conversionMilliseconds`` may have.
  package static let conversionDaysMaximum: Int64 = 90
  /// Purchases and others of one click that are kept (M8).
  public static let conversionsMaximum = 100
  /// A banner asks at most this often (D2).
  public var bannerRefreshMilliseconds: Int64 = 30_000

  /// The defaults.
  public init() {}

  /// How long the token of an ad lives: from the decision to the last event time at which an impression counts.
  ///
  /// - Parameter contentLifeMilliseconds: The content's life that the response names; held within its bounds.
  public func tokenLifeMilliseconds(format: AdFormat, contentLifeMilliseconds: Int64) -> Int64 {
    switch format {
    case .banner: bannerTokenMilliseconds
    case .interstitial: heldContentLife(contentLifeMilliseconds) + interstitialTokenExtraMilliseconds
    }
  }

  /// The longest life of any token: what allotments and parked clicks wait for.
  public var longestTokenLifeMilliseconds: Int64 {
    max(bannerTokenMilliseconds, contentLifeMilliseconds.upperBound + interstitialTokenExtraMilliseconds)
  }

  /// The moment after which no impression of a token that expires at `expiresAt` can arrive any more.
  public func lastImpressionArrival(expiresAt: Timestamp) -> Timestamp {
    expiresAt.advanced(byMilliseconds: lateArrivalMilliseconds)
  }

  /// The tokens of which no impression can arrive after `moment` are those that expire before this one.
  public func expiry(ofLastImpressionBefore moment: Timestamp) -> Timestamp {
    moment.advanced(byMilliseconds: -lateArrivalMilliseconds)
  }

  /// The moment after which no click of a token that expires at `expiresAt` can arrive any more.
  public func lastClickArrival(expiresAt: Timestamp) -> Timestamp {
    lastImpressionArrival(expiresAt: expiresAt).advanced(byMilliseconds: tapDelayMilliseconds.upperBound)
  }

  /// Whether a conversion is put down to an ad (M8): it happened within its time, and was told within the time for which
  /// late events are waited for.
  public func isInConversionWindow(servedAt: Timestamp, eventTime: Timestamp, arrival: Timestamp) -> Bool {
    eventTime.milliseconds(since: servedAt) <= conversionMilliseconds
      && arrival.milliseconds(since: eventTime) <= lateArrivalMilliseconds
  }

  /// The same where rows of events are kept for so many days: nothing is put down to a click whose row is gone.
  package func withRows(ofDays days: Int) -> Windows {
    var windows = self
    let kept = Int64(days) * 86_400_000 - lateArrivalMilliseconds
    // A day's rows go when it began so many days ago.
    windows.conversionMilliseconds = min(conversionMilliseconds, max(0, kept - 86_400_000))
    return windows
  }

  /// Whether an action was an accident (M7): it had lasted less than 2 s when its event was sent, and the user had not
  /// left the application.
  public func isAccidental(actionMilliseconds: Int64, leftApplication: Bool) -> Bool {
    !leftApplication && actionMilliseconds < accidentalActionMilliseconds
  }

  /// Whether an ad cannot have been seen at this age, by the device's own clock: it must be on screen for a second
  /// first, and that begins no sooner than its answer came (M1, B8).
  public func isImpossibleView(ageMilliseconds: Int64) -> Bool { ageMilliseconds < viewMilliseconds }

  /// Judges the time from an impression to a tap, both by event time (M5).
  public func tapTiming(impressionAt: Timestamp, tapAt: Timestamp) -> TapTiming {
    let delay = tapAt.milliseconds(since: impressionAt)
    if delay < -viewMilliseconds { return .impossible }
    if delay < tapDelayMilliseconds.lowerBound { return .tooEarly }
    return delay > tapDelayMilliseconds.upperBound ? .tooLate : .inTime
  }

  private func heldContentLife(_ life: Int64) -> Int64 {
    min(max(life, contentLifeMilliseconds.lowerBound), contentLifeMilliseconds.upperBound)
  }
}

/// How a tap lies to its impression.
public enum TapTiming: Hashable, Sendable {
  case inTime
  /// Before the second on screen that made the impression: the ad was not there yet.
  case impossible
  /// Less than 100 ms after it, or before it.
  case tooEarly
  /// More than 1 h after it.
  case tooLate
}
