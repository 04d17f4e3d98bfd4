import AdCore
import Foundation
import LocalProcesses
import Postgres
import Runtime

/// What a shown ad costs all the way: request, answer, the SDK's three events, 1.5 % taps, until billing has charged the
/// last. Time, processor time, and bytes of write-ahead log and disk, beside a bare COPY of the reference row.
struct ChainBenchmark {
  let surroundings: Surroundings
  /// Of one round.
  let ads: Int
  private static let limit = "COPY of the reference row, no index"
  private static let shown = "ads shown and charged"
  private static let events = "events of the chain"

  func run() throws -> [BenchmarkResult] {
    progress("starting all services")
    let network = try ChainNetwork.start(surroundings)
    defer { network.stop() }
    let atRest = try network.services.map { try ResidentMemory.atRest($0.name, $0.process) }
    let connection = try PostgresConnection(PostgresConfiguration(surroundings.databaseURL))
    defer { connection.close() }
    let before = try network.billed(connection)
    var expected = before
    var warmUps = 0
    try surroundings.warmUp("chain") {
      // Each is a run of its own: its clients are others.
      warmUps += 1
      return try show(ads / 4, run: Rounds.count + warmUps, network, connection, &expected)
    }
    let reference = RowCopy.reference(databaseURL: surroundings.databaseURL)
    var rounds = Rounds()
    for round in 1...Rounds.count {
      progress("chain, round \(round) of \(Rounds.count)")
      rounds.note(Self.limit, try reference.rate(withKey: false))
      try connection.executeScript("CHECKPOINT")
      let bytes = try Bytes(connection)
      let times = surroundings.processorTimes(of: network.services)
      var shown = 0.0
      let time = try seconds { shown = try show(ads, run: round, network, connection, &expected) }
      rounds.note(Self.shown, shown / time)
      rounds.note(Self.events, shown * (1 + 3 + 1.0 / 67) / time)
      for (process, used) in times {
        rounds.note("a shown ad, processor time of \(process)", used.microseconds / shown)
      }
      let written = try Bytes(connection)
      rounds.note("a shown ad, write-ahead log", Double(written.log - bytes.log) / shown)
      rounds.note("a shown ad, disk", Double(written.disk - bytes.disk) / shown)
    }
    return try atRest + results(rounds, network)
      + LatencyBenchmark(network: network).run(
        most: Int(rounds.result(Self.shown, "").value), expected: &expected)
  }

  private func results(_ rounds: Rounds, _ network: ChainNetwork) throws -> [BenchmarkResult] {
    let names = network.services.map(\.name) + ["PostgreSQL", "Kafka"]
    return [
      rounds.result(Self.shown, "ads/s", beside: Self.limit), rounds.result(Self.events, "events/s"),
      rounds.result("a shown ad, write-ahead log", "bytes"), rounds.result("a shown ad, disk", "bytes"),
    ] + names.map { rounds.result("a shown ad, processor time of \($0)", "us") }
      + (try network.services.map { try ResidentMemory.underLoad("\($0.name) in the chain", $0.process) })
  }

  /// Shows so many ads and waits until they are charged.
  ///
  /// - Returns: how many were shown.
  @discardableResult
  private func show(
    _ ads: Int, run: Int, _ network: ChainNetwork, _ connection: PostgresConnection,
    _ expected: inout ChainNetwork.Billed
  ) throws -> Double {
    let told = try ChainDevices(surroundings.kafkaConfiguration, run: run).show(ads)
    expected.impressions += told.ads
    expected.clicks += told.taps
    if told.unfilled > 0 { progress("\(told.unfilled) requests were not filled") }
    try network.await(expected, connection)
    return Double(told.ads)
  }

  /// What PostgreSQL has written so far.
  private struct Bytes {
    let log: Int64
    let disk: Int64

    init(_ connection: PostgresConnection) throws {
      let row = try connection.query(
        """
        SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint, pg_database_size(current_database())
        """)[0]
      log = try row.decode(0)
      disk = try row.decode(1)
    }
  }
}
