package import AdCore
internal import Postgres

/// The ads served from one moment up to another: serve ids are UUIDs of version 7, so they lie side by side in every
/// table's key.
package struct ServeRange: Hashable, Sendable {
  /// In milliseconds since 1970.
  package var from: Int64
  /// The first one that no longer belongs to it.
  package var to: Int64

  package init(from: Int64, to: Int64) {
    self.from = from
    self.to = to
  }

  /// Every serve there can be.
  package static let everything = ServeRange(from: 0, to: (1 << 48) - 1)

  /// Parameters $1 (the first id) and $2 (the first one behind).
  var parameters: [any PostgresValue] {
    [from, to].map { PostgresUUID(high: UInt64(clamping: $0) << 16, low: 0) as any PostgresValue }
  }

  /// What of it none of `others` covers.
  package func subtracting(_ others: [ServeRange]) -> [ServeRange] {
    var left = [self]
    for other in others {
      left = left.flatMap { range in
        [
          ServeRange(from: range.from, to: min(range.to, other.from)),
          ServeRange(from: max(range.from, other.to), to: range.to),
        ].filter { $0.from < $0.to }
      }
    }
    return left
  }
}

/// Which served ads the next pass compares: the youngest; those that differed, until they agree; and, piece by piece,
/// all whose events can still arrive or have just become final, over and over. A pure value: the lengths of the pieces
/// follow how many rows were compared, so that a pass stays short however large the tables are.
package struct ReconciliationSweep: Hashable, Sendable {
  /// Ranges that differ are kept up to this number; further ones are found again by the next sweep.
  package static let suspectsMaximum = 16
  /// After a pass over more rows the pieces get shorter.
  package static let manyRows: Int64 = 100_000
  /// After a pass over fewer rows they get longer.
  package static let fewRows: Int64 = 20_000

  private static let youngestMilliseconds: ClosedRange<Int64> = 1_000...60_000
  private static let pieceMilliseconds: ClosedRange<Int64> = 1_000...86_400_000
  /// Ids of services whose clocks are ahead are compared too.
  private static let aheadMilliseconds: Int64 = 10_000

  /// How far back a sweep begins; the next one that begins goes by it.
  package var depthMilliseconds: Int64
  private var youngestLength = youngestMilliseconds.upperBound
  private var pieceLength: Int64 = 60_000
  private var piece: ServeRange?
  /// The sweep that is on: where it ends, and up to when everything was decided and charged when it began.
  private var sweepEnd: Int64?
  private var sweepComplete: Timestamp?
  package private(set) var suspects: [ServeRange] = []
  /// Everything that arrived before is decided, charged and compared; nil until a sweep has come to its end.
  package private(set) var completeUntil: Timestamp?

  package init(depthMilliseconds: Int64) { self.depthMilliseconds = depthMilliseconds }

  /// What to compare in a pass, without overlaps.
  ///
  /// - Parameters:
  ///   - now: when the pass's snapshot was taken.
  ///   - completeUntil: up to when that snapshot has everything decided and charged; nil when a partition has not told.
  package mutating func ranges(now: Timestamp, completeUntil: Timestamp?) -> [ServeRange] {
    let end = now.milliseconds + Self.aheadMilliseconds
    if sweepEnd == nil {
      sweepEnd = end
      sweepComplete = completeUntil
      piece = ServeRange(from: end - depthMilliseconds, to: min(end, end - depthMilliseconds + pieceLength))
    }
    var ranges = suspects
    let youngest = ServeRange(from: now.milliseconds - youngestLength, to: end)
    ranges += youngest.subtracting(ranges)
    if let piece { ranges += piece.subtracting(ranges) }
    return ranges
  }

  /// What comparing one range came to.
  package struct Compared: Hashable, Sendable {
    package var range: ServeRange
    package var rows: Int64
    package var differences: Int64
  }

  /// Takes what comparing the ranges of a pass came to.
  package mutating func note(_ found: [Compared]) {
    suspects = found.filter { $0.differences > 0 }.prefix(Self.suspectsMaximum).map(\.range)
    adapt(rows: found.reduce(0) { $0 + $1.rows })
    guard let piece, let sweepEnd else { return }
    guard piece.to < sweepEnd else {
      if suspects.isEmpty, let complete = sweepComplete { completeUntil = max(completeUntil ?? complete, complete) }
      self.sweepEnd = nil
      return
    }
    self.piece = ServeRange(from: piece.to, to: min(sweepEnd, piece.to + pieceLength))
  }

  private mutating func adapt(rows: Int64) {
    if rows > Self.manyRows {
      let divisor = max(2, rows / Self.manyRows)
      youngestLength = max(youngestLength / divisor, Self.youngestMilliseconds.lowerBound)
      pieceLength = max(pieceLength / divisor, Self.pieceMilliseconds.lowerBound)
    } else if rows < Self.fewRows {
      youngestLength = min(youngestLength * 2, Self.youngestMilliseconds.upperBound)
      pieceLength = min(pieceLength * 2, Self.pieceMilliseconds.upperBound)
    }
  }
}
