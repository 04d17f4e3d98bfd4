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

/// What a click is worth. The numbers are public and stored.
package enum ClickVerdict: UInt8, CaseIterable, Sendable {
  case billable = 1
  /// A further tap on the same ad, or one beyond the first four of its kind (M4).
  case `repeat` = 2
  /// The action was over within 2 s without leaving (M7).
  case accidental = 3
  /// Less than 100 ms after the impression.
  case tooEarly = 4
  /// More than 1 h after the impression.
  case tooLate = 5
  /// A click limit of the client was reached, or so many of its clicks were judged that day.
  case limited = 6
  /// No impression came for it (M5).
  case noImpression = 7
  /// Before the ad was on screen, by the device's own ages (B8).
  case impossible = 8
}
