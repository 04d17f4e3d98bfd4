internal import AdCore
internal import Foundation
internal import JSON
internal import LocalProcesses
internal import Operations
internal import Runtime
internal import Threads

/// `handbill simulate`: devices that use the SDK.
enum SimulateCommand {
  private static let drainMilliseconds = 15_000

  static let command = Command(
    "simulate", summary: "Drives virtual devices that use the client SDK.",
    discussion: """
      The network must have been filled by 'handbill seed': the devices carry the keys of its apps. Each has a banner or a
      full-screen ad of the SDK, which it uses as apps do: shown and turned, tapped, refused, cancelled, without images, in
      the background. Some of what they tell goes twice, late and out of order, and somebody writes garbage. At the end
      the devices' own tally is written, which 'handbill reconcile --tally FILE' compares with the tables.

      With --edge they go over HTTP, as devices do; else over Kafka, as an app's own server does. The edge counts requests
      of one address (HANDBILL_EDGE_ADDRESS_RATE), and all of these have the same.
      """,
    options: KafkaAddress.options + SimulationOptions.options + [
      .value("edge", "URL", help: "The edge's address, such as http://127.0.0.1:8480."),
      .value("duration", "TIME", default: "30s", help: "How long visits begin."),
      .value("tally", "FILE", help: "Where the devices' tally goes, in the form of docs/tally.md."),
    ],
    examples: [
      CommandExample("handbill simulate --duration 2m --rate 300 --tally tally.json", "36,000 visits in two minutes.")
    ]
  ) { invocation in
    let settings = try SimulationOptions.settings(invocation)
    let kafka = try KafkaAddress(invocation)
    let edge = invocation.text("edge")
    let duration = try invocation.milliseconds("duration", in: 100...30 * 86_400_000) ?? 30_000
    let (tally, isComplete) = try await onOwnThread {
      try run(edge.map(DeviceWay.edge) ?? .kafka(kafka), kafka: kafka, settings: settings, milliseconds: duration)
    }
    let text = tally.json.prettyText
    if let path = invocation.text("tally") {
      try (text + "\n").write(toFile: path, atomically: true, encoding: .utf8)
    }
    Terminal.print(invocation.wantsJSON || invocation.text("tally") == nil ? text : "\(tally.requests) requests")
    if !isComplete { Terminal.note("handbill simulate: not everything was acknowledged by the broker") }
    return isComplete ? .success : .failure
  }

  private static func run(
    _ way: DeviceWay, kafka: KafkaAddress, settings: SimulationSettings, milliseconds: Int
  ) throws -> (DeviceTally, Bool) {
    let stop = StopRequest()
    let signals = stop.listen()
    defer { signals.cancel() }
    let clock = SystemClock()
    let apps = SeedNetwork(now: clock.now).apps.map(\.id)
    let fleet = try DeviceFleet(way, garbage: kafka, apps: apps, settings: settings, startedAt: clock.now)
    let progress = ProgressLine()
    fleet.start()
    let end = clock.monotonicMilliseconds + Int64(milliseconds)
    while true {
      let left = end - clock.monotonicMilliseconds
      guard left > 0, !stop.wait(milliseconds: Int(min(left, 250))) else { break }
      let tally = fleet.tally.current
      progress.show(
        "\(left / 1_000) s left; \(tally.requests) requests, \(tally.impressions.live) impressions "
          + "\(fleet.lastProblem)")
    }
    progress.finish()
    let (tally, isComplete) = fleet.stop(timeoutMilliseconds: drainMilliseconds)
    return (tally, isComplete)
  }
}
