public import AdBasics

/// A record of a topic of accepted events, whose sequences are dense from 1 per topic and partition; watermarks stand
/// between the runs.
package enum Sequenced<Content: Hashable & Sendable>: Hashable, Sendable {
  case run(AcceptedRun<Content>)
  case watermark(Watermark)
}

/// Accepted events of one partition with consecutive sequences. Where a run ends means nothing: published again, the same
/// events may come in other runs.
package struct AcceptedRun<Content: Hashable & Sendable>: Hashable, Sendable {
  /// The sequence of the first event, from 1.
  package var first: Int64
  /// One or more.
  package var events: [Content]

  package init(first: Int64, events: [Content]) {
    self.first = first
    self.events = events
  }
}

/// How large a run may be.
package enum RunLimits {
  /// The most events of a run: what a reader makes of one record has a bound.
  package static let eventsMaximum = 1_000
  /// The most bytes of a record.
  package static let bytesMaximum = 65_536
  /// An event has fewer bytes, new terms, place and budget included.
  static let eventBytesMaximum = 512
}

/// "Everything that arrived before `time` is decided, up to `sequence`."
public struct Watermark: Hashable, Sendable {
  public var time: Timestamp
  public var sequence: Int64
  /// Where it is not 0: the records from this sequence to ``sequence`` are lost; nobody can publish them any more.
  public var firstLostSequence: Int64

  public init(time: Timestamp, sequence: Int64, firstLostSequence: Int64 = 0) {
    self.time = time
    self.sequence = sequence
    self.firstLostSequence = firstLostSequence
  }
}

/// An impression that counts (M1, M4).
package struct AcceptedImpression: Hashable, Sendable {
  package var terms: ServedTerms
  package var eventTime: Timestamp
  package var arrival: Timestamp

  package init(terms: ServedTerms, eventTime: Timestamp, arrival: Timestamp) {
    self.terms = terms
    self.eventTime = eventTime
    self.arrival = arrival
  }
}

/// A click with its verdict: billable, or free and why.
package struct AcceptedClick: Hashable, Sendable {
  package var terms: ServedTerms
  /// The click's identity within its serve.
  package var idHash: UInt64
  package var eventTime: Timestamp
  package var arrival: Timestamp
  package var verdict: ClickVerdict

  package init(terms: ServedTerms, idHash: UInt64, eventTime: Timestamp, arrival: Timestamp, verdict: ClickVerdict) {
    self.terms = terms
    self.idHash = idHash
    self.eventTime = eventTime
    self.arrival = arrival
    self.verdict = verdict
  }
}
