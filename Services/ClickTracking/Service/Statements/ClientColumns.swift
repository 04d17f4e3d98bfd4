internal import AdCore
internal import ClickTrackingCore
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Clients and the times at which their ads were served, as arrays that a statement unnests.
struct ClientColumns {
  let hashes: [UInt64]
  let areTest: [Bool]
  let first: [PostgresUUID]
  let last: [PostgresUUID]
  /// Of all clients: which days' tables are looked into.
  let bounds: IDBounds

  init(_ clients: [ClickClient: ClosedRange<Timestamp>]) {
    let asked = Array(clients)
    let bounds = asked.map { IDBounds(from: $0.value.lowerBound, to: $0.value.upperBound) }
    hashes = asked.map(\.key.hash)
    areTest = asked.map(\.key.isTest)
    first = bounds.map(\.lowest)
    last = bounds.map(\.highest)
    let lower = asked.map(\.value.lowerBound).min() ?? Timestamp(milliseconds: 0)
    self.bounds = IDBounds(from: lower, to: asked.map(\.value.upperBound).max() ?? lower)
  }
}
