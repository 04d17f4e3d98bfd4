import AdCore
import AdEvents
import Pipeline
import TestValues
import Testing

@testable import ClickTrackingCore

/// Values that tests begin with and change.
enum Samples {
  /// 2026-01-15T12:00:00Z.
  static let now = Timestamp(milliseconds: 1_768_478_400_000)
  static let partition: Int32 = 7

  /// Terms of an ad served `issuedMilliseconds` after ``now``; equal numbers are equal serves.
  static func terms(
    serve: UInt64 = 1, client: UInt64 = 1, issuedMilliseconds: Int64 = 0, partition: Int32 = partition
  ) throws -> ServedTerms {
    let issuedAt = now.advanced(byMilliseconds: issuedMilliseconds)
    return .sample(serve: serve, partition: partition, issuedAt: issuedAt) { $0.clientHash = client }
  }

  /// A click at `age` milliseconds whose action left the application at once, unless said otherwise.
  static func click(
    _ terms: ServedTerms, id: UInt64, age: Int64, action: Int64 = 0, left: Bool = true, kind: TapKind = .click
  ) -> ClickInput {
    .action(
      ActionEvent(
        kind: kind, terms: terms, age: .milliseconds(age), claimedTime: nil, idHash: id, actionMilliseconds: action,
        leftApplication: left))
  }

  static func impression(_ terms: ServedTerms, age: Int64) -> ClickInput {
    let time = terms.issuedAt.advanced(byMilliseconds: age)
    return .impression(
      AcceptedImpression(terms: terms, eventTime: time, arrival: time.advanced(byMilliseconds: 20)))
  }
}

/// All orders of some things.
func permutations<Element>(_ elements: [Element]) -> [[Element]] {
  guard let last = elements.last else { return [[]] }
  return permutations(elements.dropLast()).flatMap { shorter in
    (0...shorter.count).map { place in
      var longer = shorter
      longer.insert(last, at: place)
      return longer
    }
  }
}
