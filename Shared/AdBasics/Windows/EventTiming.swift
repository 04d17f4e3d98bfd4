/// When an event happened, or why its time is not accepted.
public enum EventTiming: Hashable, Sendable {
  /// The event time.
  case at(Timestamp)
  /// Issued-at lies outside arrival - 26 h to arrival + 5 s.
  case tokenOutOfTime
  /// The event lies after the token's life (I1).
  case expired
  /// The event lies so long after its arrival, more than 5 s.
  case inFuture(milliseconds: Int64)
  /// It came more than 24 h after the event.
  case tooLate

  /// What kind of event is judged: a tap may come as long after the token's life as after an impression.
  public enum Subject: Hashable, Sendable {
    case impression
    case click
  }

  /// Judges an event: event time = issued-at + age; without an age `claimedTime` counts, held between issued-at and
  /// arrival, and without that the arrival.
  ///
  /// - Parameters:
  ///   - issuedAt: From the token.
  ///   - expiresAt: From the token: the last event time of an impression.
  ///   - ageMilliseconds: Since the answer came, by the device's monotonic clock; below 0 counts as 0. Nil for unknown.
  ///   - claimedTime: `ce_time`, where there was a valid one.
  ///   - arrival: The broker's time in the partition that decides.
  public static func judge(
    _ subject: Subject, issuedAt: Timestamp, expiresAt: Timestamp, ageMilliseconds: Int64?, claimedTime: Timestamp?,
    arrival: Timestamp, windows: Windows
  ) -> EventTiming {
    let sinceIssue = arrival.milliseconds(since: issuedAt)
    guard sinceIssue <= windows.issuedBeforeArrivalMilliseconds, sinceIssue >= -windows.clockToleranceMilliseconds
    else { return .tokenOutOfTime }
    let time: Timestamp
    if let ageMilliseconds {
      time = issuedAt.advanced(byMilliseconds: max(0, ageMilliseconds))
    } else {
      time = max(issuedAt, min(claimedTime ?? arrival, arrival))
    }
    let last =
      switch subject {
      case .impression: expiresAt
      case .click: expiresAt.advanced(byMilliseconds: windows.tapDelayMilliseconds.upperBound)
      }
    if time > last { return .expired }
    let sinceEvent = arrival.milliseconds(since: time)
    if sinceEvent < -windows.clockToleranceMilliseconds { return .inFuture(milliseconds: -sinceEvent) }
    return sinceEvent > windows.lateArrivalMilliseconds ? .tooLate : .at(time)
  }

  /// The same for an event of an ad served on `terms`.
  public static func judge(
    _ subject: Subject, terms: ServedTerms, ageMilliseconds: Int64?, claimedTime: Timestamp?, arrival: Timestamp,
    windows: Windows
  ) -> EventTiming {
    judge(
      subject, issuedAt: terms.issuedAt, expiresAt: terms.expiresAt, ageMilliseconds: ageMilliseconds,
      claimedTime: claimedTime, arrival: arrival, windows: windows)
  }
}
