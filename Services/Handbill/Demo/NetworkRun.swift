internal import Foundation
internal import JSON
internal import LocalProcesses
internal import Operations
internal import Runtime
internal import Threads

/// A network of this machine with devices that use it, from the start to the last account.
struct NetworkRun {
  /// How a run ends.
  enum Length: Sendable {
    case seconds(Int)
    /// Until somebody ends it.
    case untilStopped
  }

  let settings: LocalNetworkSettings
  let simulation: SimulationSettings
  let length: Length
  /// Whether services are killed at random.
  let isChaotic: Bool
  /// Whether devices speak Kafka; else they come by the edge.
  let isOverKafka: Bool
  let stop: StopRequest

  private static let drainMilliseconds = 15_000
  private static let acknowledgeMilliseconds = 15_000
  private static let tableMilliseconds: Int64 = 1_000

  /// Runs it. Blocks.
  func run() throws -> ExitCode {
    let table = LiveTable()
    let tell: @Sendable (String) -> Void = { text in
      table.finish()
      Terminal.note("  \(text)")
    }
    let network = try LocalNetwork.start(settings, stop: stop, tell: tell)
    defer { network.stop() }
    try network.folder.write(NetworkAddresses.script(network), to: network.folder.file("environment"))
    if case .untilStopped = length { NetworkAddresses.show(network) }
    let (tally, isAcknowledged) = try drive(network, table, tell)
    if let tally { try network.folder.write(tally.json.prettyText + "\n", to: network.folder.file("tally.json")) }
    if case .untilStopped = length { return .success }
    try stop.check()
    guard let tally else { throw DemoFailure("no device came, so there is nothing to compare") }
    return try end(network, tally, isAcknowledged: isAcknowledged)
  }

  /// Devices come and go, if any are wanted, and the figures are shown. The tally is theirs.
  private func drive(
    _ network: LocalNetwork, _ table: LiveTable, _ tell: @escaping @Sendable (String) -> Void
  ) throws -> (DeviceTally?, Bool) {
    let clock = SystemClock()
    var reader = try LiveReader(databaseURL: network.databaseURL, services: network.services)
    defer { reader.close() }
    _ = try reader.read()
    let fleet =
      simulation.visitsPerSecond > 0
      ? try DeviceFleet(
        isOverKafka ? .kafka(network.kafka) : .edge(network.edgeURL), garbage: network.kafka, apps: network.apps,
        settings: simulation, startedAt: clock.now) : nil
    fleet?.start()
    let chaos = isChaotic ? Chaos(services: network.services, seed: simulation.seed, tell: tell) : nil
    let startedAt = clock.monotonicMilliseconds
    var nextTable = startedAt + Self.tableMilliseconds
    while true {
      let now = clock.monotonicMilliseconds
      if case .seconds(let seconds) = length, now - startedAt >= Int64(seconds) * 1_000 { break }
      if let ended = network.ended.first {
        // Without a broker it takes the services a while to end.
        tell("\(ended) ended by itself: the others are stopped")
        throw DemoFailure("\(ended) does not run any more; the logs in \(network.folder.path) say why")
      }
      if stop.wait(milliseconds: Int(max(1, nextTable - now))) { break }
      nextTable += Self.tableMilliseconds
      do {
        let figures = try reader.read()
        table.show(figures, seconds: Int((clock.monotonicMilliseconds - startedAt) / 1_000))
      } catch { tell("the figures cannot be read: \(error)") }
    }
    chaos?.stop()
    table.finish()
    guard let fleet else { return (nil, true) }
    return fleet.stop(timeoutMilliseconds: stop.isRequested ? 1_000 : Self.acknowledgeMilliseconds)
  }

  /// Everything is to be decided, counted and equal.
  private func end(_ network: LocalNetwork, _ tally: DeviceTally, isAcknowledged: Bool) throws -> ExitCode {
    guard isAcknowledged else {
      Terminal.note("The network did not acknowledge everything that the devices sent.")
      return .failure
    }
    let drain = try Drain(
      kafka: network.kafka, databaseURL: network.databaseURL, partitions: network.settings.partitions)
    defer { drain.close() }
    let left = try drain.wait(timeoutMilliseconds: Self.drainMilliseconds, stop: stop)
    try stop.check()
    guard left.isEmpty else {
      Terminal.note("Not everything was decided within \(Self.drainMilliseconds / 1_000) s:")
      for line in left { Terminal.note("  \(line)") }
      return .failure
    }
    return try Accounts.show(databaseURL: network.databaseURL, tally: tally)
  }
}

/// Where to look at a network of this machine.
enum NetworkAddresses {
  /// A shell script that makes other commands work on the network.
  static func script(_ network: LocalNetwork) -> String {
    network.environment.sorted { $0.key < $1.key }.map { "export \($0.key)=\(quoted($0.value))\n" }.joined()
      + "export PATH=\(quoted(Programs.own.folder)):\"$PATH\"\n"
  }

  private static func quoted(_ value: String) -> String {
    "'" + value.replacingOccurrences(of: "'", with: "'\\''") + "'"
  }

  static func show(_ network: LocalNetwork) {
    var rows = [["console", network.consoleURL], ["edge", network.edgeURL]]
    for service in network.services {
      rows.append(["\(service.name)", service.service.metricsURL])
    }
    rows += [
      ["broker", network.kafka.bootstrapServers], ["database", network.databaseURL],
      ["logs", network.folder.file("logs")],
      ["other commands", ". \(network.folder.file("environment")); handbill report"],
    ]
    Terminal.print(TextTable.text(rows) + "\n\nCtrl-C ends it.")
  }
}
