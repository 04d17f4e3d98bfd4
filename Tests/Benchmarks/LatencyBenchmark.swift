import AdCore
import LocalProcesses
import Postgres

/// The time from a view, handed to Kafka by a device, to the commit of its charge, at a fixed rate of half of what the
/// chain does at most; beside the time from a request to the answer of an echo that commits a row, at the same rate, while
/// nothing else is asked of the machine.
struct LatencyBenchmark {
  let network: ChainNetwork
  private static let secondsEach = 15
  private static let echoSeconds = 5
  private static let echo = "committed"
  /// Whose commit ends what: the impression's lies halfway to that of its charge.
  private static let commits = [
    ("event to impression", "impression_tracking.impression_row"), ("event to charge", "billing.charge_row"),
  ]

  func run(perSecond: Int, expected: inout ChainNetwork.Billed) throws -> [BenchmarkResult] {
    let connection = try PostgresConnection(PostgresConfiguration(network.surroundings.databaseURL))
    defer { connection.close() }
    let echo = try EchoServer.start(Self.echo, network.surroundings, commits: true)
    defer { echo.stop() }
    var rounds = Rounds()
    for round in 1...Rounds.count {
      progress("event to charge at \(perSecond)/s, round \(round) of \(Rounds.count)")
      let devices = ChainDevices(network.surroundings.kafkaConfiguration, run: 1_000 + round, keepsViews: true)
      let told = try devices.show(perSecond * Self.secondsEach, perSecond: perSecond)
      expected.impressions += told.ads
      expected.clicks += told.taps
      try network.await(expected, connection)
      for (what, table) in Self.commits {
        let latencies = try latencies(told.viewedAt, table, connection)
        rounds.note("\(what), p50", latencies.quantile(0.5))
        rounds.note("\(what), p99", latencies.quantile(0.99))
      }
      let echoed = try RoundTrip(
        configuration: network.surroundings.kafkaConfiguration, parties: [.echo(Self.echo)], perSecond: perSecond,
        seconds: Self.echoSeconds
      ).measure()[0]
      rounds.note("committing echo, p50", echoed.quantile(0.5))
      rounds.note("committing echo, p99", echoed.quantile(0.99))
    }
    return [BenchmarkResult("event to charge, rate", Double(perSecond), "ads/s")]
      + Self.commits.flatMap { what, _ in
        ["p50", "p99"].map { rounds.result("\(what), \($0)", "ms", beside: "committing echo, \($0)") }
      }
  }

  /// From each view to the commit of its row.
  private func latencies(
    _ viewedAt: [ServeID: Int64], _ table: String, _ connection: PostgresConnection
  ) throws -> RoundTrip.Latencies {
    var latencies = RoundTrip.Latencies()
    guard let first = viewedAt.keys.min() else { return latencies }
    let rows = try connection.query(
      """
      SELECT DISTINCT ON (serve_id) serve_id, (extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000000)::bigint
      FROM \(table) WHERE serve_id >= $1 ORDER BY serve_id, event_time
      """, [PostgresUUID(high: first.high, low: first.low)])
    for row in rows {
      let id: PostgresUUID = try row.decode(0)
      guard let told = ServeID(high: id.high, low: id.low).flatMap({ viewedAt[$0] }) else { continue }
      latencies.microseconds.append(try row.decode(1, Int64.self) - told)
    }
    return latencies
  }
}
