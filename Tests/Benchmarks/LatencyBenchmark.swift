import AdCore
import LocalProcesses
import Postgres

/// The time from a view, handed to Kafka by a device, to the commit of its charge, at a fixed rate, whatever has been
/// answered; beside the time from a request to the answer of an echo that commits a row, at the same rate, while nothing else is
/// asked of the machine.
///
/// The rate is that at which this machine is half busy. Half of what the chain does at most is far more: there everything
/// comes in batches as large as they may be, while at half of it nothing waits for company, and each record costs most of what a
/// batch does.
struct LatencyBenchmark {
  let network: ChainNetwork
  private static let secondsEach = 15
  private static let echoSeconds = 5
  private static let tryingSeconds = 5
  /// How often a rate is looked for.
  private static let triesMaximum = 6
  /// Of the machine's processors, at most.
  private static let busyMaximum = 0.5
  private static let rate = "event to charge, rate"
  private static let busy = "event to charge, processors in use"
  private static let echo = "committed"
  /// Charges with the transactions that committed them, wherever they lie.
  private static let charges = """
    (SELECT serve_id, event_time, xmin FROM billing.charge_row UNION ALL
      SELECT unnest(serve_ids), unnest(event_times), xmin FROM billing.charge_pack) AS charges
    """
  /// Whose commit ends what: the impression's lies halfway to that of its charge.
  private static let commits = [
    ("event to impression", "impression_tracking.impression_row"), ("event to charge", charges),
  ]

  /// - Parameter most: what the chain does at most, in ads a second.
  func run(most: Int, expected: inout ChainNetwork.Billed) throws -> [BenchmarkResult] {
    let connection = try PostgresConnection(PostgresConfiguration(network.surroundings.databaseURL))
    defer { connection.close() }
    let echo = try EchoServer.start(Self.echo, network.surroundings, commits: true)
    defer { echo.stop() }
    var rounds = Rounds()
    let perSecond = try halfLoad(most, &expected, connection)
    for round in 1...Rounds.count {
      progress("event to charge at \(perSecond)/s, round \(round) of \(Rounds.count)")
      let machine = MachineTime()
      let told = try show(perSecond, seconds: Self.secondsEach, run: round, &expected, connection)
      rounds.note(Self.busy, 100 * machine.busy)
      for (what, table) in Self.commits {
        let latencies = try latencies(told.viewedAt, table, connection)
        rounds.note("\(what), p50", latencies.quantile(0.5))
        rounds.note("\(what), p99", latencies.quantile(0.99))
      }
      let echoed = try RoundTrip(
        configuration: network.surroundings.kafkaConfiguration, parties: [.echo(Self.echo)],
        load: .perSecond(perSecond), seconds: Self.echoSeconds
      ).measure()[0]
      rounds.note("committing echo, p50", echoed.quantile(0.5))
      rounds.note("committing echo, p99", echoed.quantile(0.99))
    }
    return [BenchmarkResult(Self.rate, Double(perSecond), "ads/s"), rounds.result(Self.busy, "%")]
      + Self.commits.flatMap { what, _ in
        ["p50", "p99"].map { rounds.result("\(what), \($0)", "ms", beside: "committing echo, \($0)") }
      }
  }

  /// The rate at which the machine is half busy: less and less is asked of it until it is.
  private func halfLoad(
    _ most: Int, _ expected: inout ChainNetwork.Billed, _ connection: PostgresConnection
  ) throws -> Int {
    var perSecond = max(1, most / 2)
    for number in 1...Self.triesMaximum {
      progress("looking for half load: \(perSecond)/s")
      let machine = MachineTime()
      _ = try show(perSecond, seconds: Self.tryingSeconds, run: -number, &expected, connection)
      let busy = machine.busy
      guard busy > Self.busyMaximum else { break }
      // A machine that is busy all the time does not say by how much it is too much.
      perSecond = max(1, Int(Double(perSecond) * (busy < 0.9 ? Self.busyMaximum / busy : Self.busyMaximum)))
    }
    return perSecond
  }

  /// Shows ads at a rate and waits until they are charged.
  private func show(
    _ perSecond: Int, seconds: Int, run: Int, _ expected: inout ChainNetwork.Billed, _ connection: PostgresConnection
  ) throws -> ChainDevices.Told {
    let devices = ChainDevices(network.surroundings.kafkaConfiguration, run: 1_000 + run, keepsViews: true)
    let told = try devices.show(perSecond * seconds, perSecond: perSecond)
    expected.impressions += told.ads
    expected.clicks += told.taps
    try network.await(expected, connection)
    return told
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
