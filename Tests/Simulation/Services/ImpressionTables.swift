import AdCore
import AdEvents
import ImpressionTrackingCore
import Pipeline

/// Impression tracking's tables in memory.
struct ImpressionTables: SimulatedTables {
  typealias Service = ImpressionTracking

  struct Row {
    var partition: Int32
    var batch: Int64
    var sequence: Int64
    var accepted: AcceptedImpression
  }

  struct DeliveryKey: Hashable {
    var kind: ImpressionEvent.Kind
    var serveID: ServeID
  }

  struct FailureKey: Hashable {
    var requestID: UUIDv7
    var error: AdError
  }

  let windows: Windows
  let idsMaximum: Int
  private(set) var impressions: [ServeID: Row] = [:]
  private(set) var bySequence: [Int32: [Row]] = [:]
  private(set) var deliveries: [DeliveryKey: ImpressionEffects.Delivery] = [:]
  private(set) var failures: Set<FailureKey> = []
  private(set) var counts: [Int32: [MinuteKey: Int64]] = [:]

  init(windows: Windows, idsMaximum: Int) {
    self.windows = windows
    self.idsMaximum = idsMaximum
  }

  func load(_ partition: Int32, now: Timestamp) -> ImpressionDecider {
    ImpressionDecider(windows: windows, now: now, idsMaximum: idsMaximum)
  }

  func look(up query: ImpressionIDs, partition: Int32) -> ImpressionIDs {
    var known = ImpressionIDs()
    known.impressions = query.impressions.filter { impressions[$0] != nil }
    for (kind, ids) in query.deliveries {
      known.deliveries[kind] = ids.filter { deliveries[DeliveryKey(kind: kind, serveID: $0)] != nil }
    }
    for (error, ids) in query.failures {
      known.failures[error] = ids.filter { failures.contains(FailureKey(requestID: $0, error: error)) }
    }
    return known
  }

  func violation(of batch: CommitBatch<ImpressionTracking>) -> PipelineError? {
    let effects = batch.effects
    var serves = Set<ServeID>()
    for row in effects.impressions {
      let id = row.accepted.terms.serveID
      if Devices.isRefused(row.accepted.terms) { return .dataRefused("the row of \(id) is refused") }
      if impressions[id] != nil || !serves.insert(id).inserted { return .duplicateFound }
    }
    var keys = Set<DeliveryKey>()
    for row in effects.deliveries {
      let key = DeliveryKey(kind: row.kind, serveID: row.terms.serveID)
      if deliveries[key] != nil || !keys.insert(key).inserted { return .duplicateFound }
    }
    var failed = Set<FailureKey>()
    for row in effects.failures {
      let key = FailureKey(requestID: row.failure.requestID, error: row.failure.error)
      if failures.contains(key) || !failed.insert(key).inserted { return .duplicateFound }
    }
    return nil
  }

  mutating func apply(_ batch: CommitBatch<ImpressionTracking>) -> CommitResult {
    for row in batch.effects.impressions {
      let stored = Row(
        partition: batch.partition, batch: batch.number, sequence: row.sequence, accepted: row.accepted)
      impressions[row.accepted.terms.serveID] = stored
      bySequence[batch.partition, default: []].append(stored)
    }
    for row in batch.effects.deliveries {
      deliveries[DeliveryKey(kind: row.kind, serveID: row.terms.serveID)] = row
    }
    for row in batch.effects.failures {
      failures.insert(FailureKey(requestID: row.failure.requestID, error: row.failure.error))
    }
    for (key, events) in batch.effects.counts { counts[batch.partition, default: [:]][key, default: 0] += events }
    return CommitResult()
  }

  func messages(partition: Int32, output: Int, from sequence: Int64, limit: Int) -> [NumberedMessage] {
    (bySequence[partition] ?? []).lazy.filter { $0.sequence >= sequence }.prefix(limit).map {
      Self.message($0.accepted, sequence: $0.sequence)
    }
  }

  func messages(of batch: CommitBatch<ImpressionTracking>) -> [NumberedMessage] {
    batch.effects.impressions.map { Self.message($0.accepted, sequence: $0.sequence) }
  }

  private static func message(_ accepted: AcceptedImpression, sequence: Int64) -> NumberedMessage {
    NumberedMessage(
      output: 0, sequence: sequence, message: ImpressionTracking.message(accepted, sequence: sequence))
  }
}
