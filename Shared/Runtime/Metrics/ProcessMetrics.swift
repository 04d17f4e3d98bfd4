internal import Foundation

/// What Linux says of this process, under the names that Prometheus' own libraries use, and what was built.
package enum ProcessMetrics {
  package static let cpuSeconds = MetricDeclaration.counter(
    "process_cpu_seconds_total", help: "Processor time used, in user and system mode, in seconds.")
  package static let residentMemory = MetricDeclaration.gauge(
    "process_resident_memory_bytes", help: "Resident memory in bytes.")
  package static let heap = MetricDeclaration.gauge(
    "handbill_heap_bytes", help: "Memory in use, without what is kept free for the next batch, in bytes.")
  package static let openDescriptors = MetricDeclaration.gauge(
    "process_open_fds", help: "File descriptors that are open.")
  package static let startTime = MetricDeclaration.gauge(
    "process_start_time_seconds", help: "When the process started, in seconds since 1970.")
  package static let buildInformation = MetricDeclaration.gauge(
    "handbill_build_info", help: "Always 1; the labels say what was built.",
    labels: ["service", "version", "revision"])

  static let declarations = [cpuSeconds, residentMemory, heap, openDescriptors, startTime, buildInformation]

  /// Makes `registry` show them.
  package static func register(in registry: MetricsRegistry, service: String, build: BuildInformation = .current) {
    registry.sample(cpuSeconds) { processorSeconds() }
    registry.sample(residentMemory) { residentBytes() }
    registry.sample(heap) { Double(ProcessMemory.bytesInUse) }
    registry.sample(openDescriptors) {
      let entries = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
      return entries.map { Double($0.count) }
    }
    let started = startSeconds()
    registry.sample(startTime) { started }
    registry.gauge(
      buildInformation, ["service": service, "version": build.version, "revision": build.revision]
    ).set(1)
  }

  /// Fields of `/proc/self/stat` after the program's name, which is in parentheses and may hold spaces.
  private static func statistics() -> [Substring] {
    guard let data = FileManager.default.contents(atPath: "/proc/self/stat") else { return [] }
    let text = String(decoding: data, as: UTF8.self)
    guard let end = text.lastIndex(of: ")") else { return [] }
    return text[text.index(after: end)...].split(separator: " ")
  }

  private static func processorSeconds() -> Double? {
    let fields = statistics()
    // proc(5): utime and stime are fields 14 and 15; the first two are not in the list.
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return nil }
    return (user + system) / ticksPerSecond
  }

  private static func residentBytes() -> Double? {
    guard let data = FileManager.default.contents(atPath: "/proc/self/statm") else { return nil }
    let fields = String(decoding: data, as: UTF8.self).split(separator: " ")
    guard fields.count > 1, let pages = Double(fields[1]) else { return nil }
    return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
  }

  private static func startSeconds() -> Double? {
    let fields = statistics()
    // proc(5): starttime is field 22, in ticks since the machine started.
    guard fields.count > 19, let ticks = Double(fields[19]),
      let data = FileManager.default.contents(atPath: "/proc/stat")
    else { return nil }
    let lines = String(decoding: data, as: UTF8.self).split(separator: "\n")
    guard let booted = lines.first(where: { $0.hasPrefix("btime ") }).flatMap({ Double($0.dropFirst(6)) }) else {
      return nil
    }
    return booted + ticks / ticksPerSecond
  }

  private static var ticksPerSecond: Double { Double(sysconf(Int32(_SC_CLK_TCK))) }
}
