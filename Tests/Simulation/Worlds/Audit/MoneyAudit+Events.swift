import AdCore
import AdEvents
import AdSelectionCore
import BillingCore
import ClickTrackingCore
import ImpressionTrackingCore

/// What the trackers accepted, by the sequences that billing's batches took.
extension MoneyAudit {
  /// The rows whose sequences a batch took: those behind `before`, up to `after`.
  func taken<Row>(
    _ rows: [Row], of topic: Topic, _ partition: Int32, _ before: Int, _ after: Int, sequence: (Row) -> Int64
  ) -> [Row] {
    let taken = rows.filter { (before + 1..<max(before, after) + 1).contains(Int(sequence($0))) }
    let lost = world.timelines.lost[LogID(topic: topic.name, partition: partition)] ?? []
    let passed = lost.reduce(0) { $0 + $1.clamped(to: Int64(before + 1)..<Int64(max(before, after) + 1)).count }
    if before > after || taken.count + passed != after - before {
      world.fail("billing took sequences \(before + 1) to \(after) of \(topic.name), \(taken.count) are there")
    }
    return taken
  }

  /// What the trackers accepted in these sequences: impressions first, as inputs are decided one after the other.
  func events(_ partition: Int32, from before: [Int], to after: [Int]) -> [Event] {
    let shown = taken(
      world.impressions.tables.bySequence[partition] ?? [], of: .acceptedImpressions, partition, before[0], after[0],
      sequence: \.sequence
    ).map {
      Event(
        kind: .impression, sequence: $0.sequence, terms: $0.accepted.terms, idHash: 0, verdict: 1,
        arrival: $0.accepted.arrival.milliseconds)
    }
    let tapped = taken(
      world.clicks.tables.bySequence[partition] ?? [], of: .acceptedClicks, partition, before[1], after[1],
      sequence: \.sequence
    ).map {
      Event(
        kind: .click, sequence: $0.sequence, terms: $0.accepted.terms, idHash: $0.accepted.idHash,
        verdict: $0.accepted.verdict.rawValue, arrival: $0.accepted.arrival.milliseconds)
    }
    return shown + tapped
  }
}
