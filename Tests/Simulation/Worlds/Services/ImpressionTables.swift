import AdCore
import AdEvents
import ImpressionTrackingCore
import Pipeline

/// Impression tracking's tables in memory.
struct ImpressionTables: SimulatedTables {
  typealias Service = ImpressionTracking

  struct Row: Equatable {
    var partition: Int32
    var batch: Int64
    var sequence: Int64
    var accepted: AcceptedImpression
  }

  struct DeliveryKey: Hashable {
    var kind: RecordedKind
    var serveID: ServeID
  }

  struct FailureKey: Hashable {
    var requestID: UUIDv7
    var error: AdError
  }

  let windows: Windows
  let idsMaximum: Int
  let keys: [AppKey]
  private(set) var impressions: [ServeID: Row] = [:]
  /// Those that retention removed as well: the audit wants them.
  private(set) var bySequence: [Int32: [Row]] = [:]
  /// Up to which sequence retention has removed rows.
  private var removedUpTo: [Int32: Int64] = [:]
  private(set) var deliveries: [DeliveryKey: ImpressionEffects.Delivery] = [:]
  private(set) var failures: Set<FailureKey> = []
  var counts = SimulatedCounts<ImpressionMinuteKey, Int64> { $0 += $1 }

  init(windows: Windows, idsMaximum: Int, keys: [AppKey]) {
    self.keys = keys
    self.windows = windows
    self.idsMaximum = idsMaximum
  }

  func load(_ partition: Int32, now: Timestamp, for context: InstanceContext) -> ImpressionDecider {
    ImpressionDecider(windows: windows, now: now, memory: ImpressionMemory(bytesMaximum: 64 * idsMaximum))
  }

  func lookUp(_ query: ImpressionQuery, partition: Int32) -> ImpressionKnowledge {
    var known = ImpressionKnowledge()
    known.ids.impressions = query.ids.impressions.filter { impressions[$0] != nil }
    for (kind, ids) in query.ids.deliveries {
      known.ids.deliveries[kind] = ids.filter { deliveries[DeliveryKey(kind: kind, serveID: $0)] != nil }
    }
    for (error, ids) in query.ids.failures {
      known.ids.failures[error] = ids.filter { failures.contains(FailureKey(requestID: $0, error: error)) }
    }
    for key in keys where query.keys.contains(key.keyHash) { known.keys[key.keyHash] = key }
    return known
  }

  func violation(of batch: CommitBatch<ImpressionTracking>) -> RowRefusal? {
    let effects = batch.effects
    var serves = Set<ServeID>()
    for row in effects.impressions {
      let id = row.accepted.terms.serveID
      if Devices.isRefused(row.accepted.terms) { return .refused("the row of \(id) is refused") }
      if impressions[id] != nil || !serves.insert(id).inserted { return .duplicate }
    }
    var keys = Set<DeliveryKey>()
    // No key refuses what lies many in a row: the audit finds what is told twice.
    for row in effects.deliveries where row.kind != ImpressionEffects.Delivery.packedKind {
      let key = DeliveryKey(kind: row.kind, serveID: row.terms.serveID)
      if deliveries[key] != nil || !keys.insert(key).inserted { return .duplicate }
    }
    var failed = Set<FailureKey>()
    for row in effects.failures {
      let key = FailureKey(requestID: row.failure.requestID, error: row.failure.error)
      if failures.contains(key) || !failed.insert(key).inserted { return .duplicate }
    }
    return nil
  }

  mutating func apply(_ batch: CommitBatch<ImpressionTracking>, for context: InstanceContext) -> CommitResult {
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
    count(batch)
    return CommitResult()
  }

  private mutating func count(_ batch: CommitBatch<ImpressionTracking>) {
    let effects = batch.effects
    let liveKeys = Set(keys.filter { $0.build == .distribution }.map(\.keyHash))
    var counted = effects.impressions.map {
      ImpressionMinuteKey(.viewed, AdMinute(of: $0.accepted.terms, time: $0.accepted.eventTime))
    }
    counted += effects.deliveries.map {
      ImpressionMinuteKey($0.kind, error: $0.error, AdMinute(of: $0.terms, time: $0.eventTime))
    }
    counted += effects.failures.map { row in
      let isTest = !liveKeys.contains(row.failure.keyHash)
      let event = AdMinute(app: row.failure.app, time: row.arrival, isTest: isTest)
      return ImpressionMinuteKey(.failed, error: row.failure.error, event)
    }
    counts.commit(counted.map { ($0, 1) }, partition: batch.partition, batch: batch.number)
  }

  /// Nobody can publish them any more.
  mutating func removeRows(_ partition: Int32, upTo sequence: Int64) {
    removedUpTo[partition] = max(removedUpTo[partition, default: 0], sequence)
  }

  func messages(partition: Int32, output: Int, from sequence: Int64, limit: Int) -> [NumberedMessage] {
    let first = max(sequence, removedUpTo[partition, default: 0] + 1)
    let rows = (bySequence[partition] ?? []).lazy.filter { $0.sequence >= first }.prefix(limit)
    return ImpressionTracking.messages(rows.map { ($0.sequence, $0.accepted) })
  }

  func messages(of batch: CommitBatch<ImpressionTracking>) -> [NumberedMessage] {
    ImpressionTracking.messages(batch.effects.impressions.map { ($0.sequence, $0.accepted) })
  }
}
