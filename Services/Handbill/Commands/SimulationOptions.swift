import AdCore
import Runtime

/// How simulated devices behave, as options.
enum SimulationOptions {
  private static let defaults = SimulationSettings()

  static let options: [CommandOption] = [
    .value("rate", "COUNT", default: "\(defaults.visitsPerSecond)", help: "Visits that begin in a second."),
    .value(
      "devices", "COUNT", default: "\(defaults.deviceCount)", help: "Different devices; fewer come back more often."),
    .value("click-rate", "PERCENT", default: "9", help: "Ads on screen that are tapped."),
    .value("test-builds", "PERCENT", default: "4", help: "Devices with a developer or ad-hoc build."),
    .value("duplicates", "PERCENT", default: "3", help: "Events that are sent twice."),
    .value("late", "PERCENT", default: "5", help: "Events that arrive late and out of order."),
    .value("garbage", "COUNT", default: "\(defaults.garbagePerSecond)", help: "Pieces of garbage written in a second."),
    .value("seed", "NUMBER", default: "1", help: "Decides who comes when and does what."),
  ]

  static func settings(_ invocation: Invocation) throws(UsageError) -> SimulationSettings {
    var settings = SimulationSettings()
    func percent(_ name: String) throws(UsageError) -> Int { (try invocation.integer(name, in: 0...100) ?? 0) * 100 }
    settings.visitsPerSecond = try invocation.integer("rate", in: 1...20_000) ?? settings.visitsPerSecond
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
