public import AdCore

/// A record of a topic with sequences: dense from 1 per topic and partition; a watermark stands between them.
package enum Sequenced<Content: Hashable & Sendable>: Hashable, Sendable {
  case record(sequence: Int64, Content)
  case watermark(Watermark)
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
