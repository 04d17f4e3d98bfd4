internal import Foundation
internal import LocalProcesses
internal import Runtime
internal import Threads

/// `handbill demo` and `handbill up`: a whole network on this machine.
enum DemoCommand {
  private static let overKafka = CommandOption.flag(
    "over-kafka", help: "Devices speak Kafka, as an app's own server does; else they come by the edge.")

  static let demo = Command(
    "demo", summary: "Shows a living network on this machine for half a minute, and its accounts.",
    discussion: """
      Starts a broker, a PostgreSQL of its own and all services, fills the catalogue, and drives simulated devices. At
      the end every record must be decided within 15 s, and the accounts must agree with each other and with the devices'
      own tally: else it exits with 1. Nothing is left running, whatever ends it.

      Where HANDBILL_DATABASE_URL or DATABASE_URL is set it takes that database in place of its own: it migrates it,
      fills it with keys that everybody knows, and begins its logs anew. A database whose catalogue has other records, and
      a Kafka with a network's catalogue, are refused and stay as they are (exit 78), but for those that a run in the same
      folder has begun.
      """,
    options: LocalNetworkSettings.options + SimulationOptions.options + [
      .value("seconds", "COUNT", help: "How long devices come (else DEMO_SECONDS, else 30)."),
      overKafka,
      .flag("chaos", help: "Kills services at random (kill -9); they are started again."),
    ],
    examples: [
      CommandExample("handbill demo", "The whole network for 30 seconds."),
      CommandExample(
        "handbill demo --kafka embedded --seconds 60 --rate 300", "More of it, with the broker in memory."),
      CommandExample("handbill demo --chaos --seed 7", "Services die and come back; nothing may be lost."),
    ]
  ) { invocation in
    let seconds = try invocation.integer("seconds", in: 1...86_400) ?? environmentSeconds()
    return try await run(invocation, length: .seconds(seconds), isChaotic: invocation.has("chaos"))
  }

  static let up = Command(
    "up", summary: "Starts the same network and stays, with devices that use it.",
    discussion: """
      Prints where to look: console, metrics, broker, database; the file 'environment' in its folder says the same to
      scripts. Ctrl-C ends it in order.
      """,
    options: LocalNetworkSettings.options + SimulationOptions.optionsWithoutDevices + [overKafka],
    examples: [
      CommandExample("handbill up --rate 0", "A network without devices, for clients of your own."),
      CommandExample("handbill up --rate 20", "A quiet network to look at."),
      CommandExample(". .demo/environment; handbill report", "In another terminal: its report."),
    ]
  ) { invocation in
    try await run(invocation, length: .untilStopped, isChaotic: false, rateMinimum: 0)
  }

  private static func environmentSeconds() throws(UsageError) -> Int {
    guard let text = ProcessInfo.processInfo.environment["DEMO_SECONDS"], !text.isEmpty else { return 30 }
    guard let seconds = Int(text), (1...86_400).contains(seconds) else {
      throw UsageError("DEMO_SECONDS must be a whole number, 1 to 86400")
    }
    return seconds
  }

  private static func run(
    _ invocation: Invocation, length: NetworkRun.Length, isChaotic: Bool, rateMinimum: Int = 1
  ) async throws -> ExitCode {
    let settings = try LocalNetworkSettings(invocation)
    let simulation = try SimulationOptions.settings(invocation, rateMinimum: rateMinimum)
    return try await onOwnThread {
      let stop = StopRequest()
      let signals = stop.listen()
      defer { signals.cancel() }
      let run = NetworkRun(
        settings: settings, simulation: simulation, length: length, isChaotic: isChaotic,
        isOverKafka: invocation.has("over-kafka"), stop: stop)
      do {
        return try run.run()
      } catch is StopRequest.Stopped {
        Terminal.note("Stopped; nothing is left running.")
        return .failure
      } catch let error as SupervisionError {
        guard case .unavailable = error else { throw error }
        Terminal.note("\(invocation.path.joined(separator: " ")): \(error)")
        return .unavailable
      }
    }
  }
}
