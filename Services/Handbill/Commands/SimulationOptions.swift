internal import AdCore
internal import Runtime

/// How simulated devices behave, as options.
enum SimulationOptions {
  private static let defaults = SimulationSettings()

  static let options = options(rateHelp: "Visits that begin in a second, 1 to \(rateMaximum).")
  /// Where a network is wanted without our devices.
  static let optionsWithoutDevices = options(
    rateHelp:
      "Visits that begin in a second, 0 to \(rateMaximum); 0: no devices and no garbage, for clients of your own.")

  private static let rateMaximum = 20_000

  private static func options(rateHelp: String) -> [CommandOption] {
    [
      .value("rate", "COUNT", default: "\(defaults.visitsPerSecond)", help: rateHelp),
      .value(
        "devices", "COUNT", default: "\(defaults.deviceCount)", help: "Different devices; fewer come back more often."),
      .value("click-rate", "PERCENT", default: "9", help: "Ads on screen that are tapped."),
      .value("test-builds", "PERCENT", default: "4", help: "Devices with a developer or ad-hoc build."),
      .value("duplicates", "PERCENT", default: "3", help: "Events that are sent twice."),
      .value("late", "PERCENT", default: "5", help: "Events that arrive late and out of order."),
      .value(
        "garbage", "COUNT", default: "\(defaults.garbagePerSecond)", help: "Pieces of garbage written in a second."),
      .value("seed", "NUMBER", default: "1", help: "Decides who comes when and does what."),
    ]
  }

  /// - Parameter rateMinimum: 0 where the command can do without devices.
  static func settings(_ invocation: Invocation, rateMinimum: Int = 1) throws(UsageError) -> SimulationSettings {
    var settings = SimulationSettings()
    func percent(_ name: String) throws(UsageError) -> Int { (try invocation.integer(name, in: 0...100) ?? 0) * 100 }
    settings.visitsPerSecond = try invocation.integer("rate", in: rateMinimum...rateMaximum) ?? settings.visitsPerSecond
    settings.deviceCount = try invocation.integer("devices", in: 1...10_000_000) ?? settings.deviceCount
    settings.clickBasisPoints = try percent("click-rate")
    settings.testBuildBasisPoints = try percent("test-builds")
    settings.duplicateBasisPoints = try percent("duplicates")
    settings.lateBasisPoints = try percent("late")
    settings.garbagePerSecond = try invocation.integer("garbage", in: 0...1_000) ?? settings.garbagePerSecond
    settings.seed = UInt64(try invocation.integer("seed", in: 0...Int.max) ?? 1)
    settings.run = UInt64(SystemClock().now.milliseconds)
    return settings
  }
}
