import Foundation
import LocalProcesses

/// Processor time that a process and its children used, ended children included: what a figure costs, whoever else
/// keeps the machine busy meanwhile.
struct ProcessorTime {
  private let processIdentifier: Int32
  private let start: Double

  /// Counts from now on.
  init(_ processIdentifier: Int32) {
    self.processIdentifier = processIdentifier
    start = Self.seconds(processIdentifier)
  }

  /// Since the start of counting.
  var microseconds: Double { (Self.seconds(processIdentifier) - start) * 1e6 }

  private static func seconds(_ processIdentifier: Int32) -> Double {
    let family = [processIdentifier] + ProcessTable.descendants(of: processIdentifier).map(\.processIdentifier)
    return family.reduce(0) { $0 + ticks($1) } / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  /// User and system time of the process and of its children that have ended.
  private static func ticks(_ processIdentifier: Int32) -> Double {
    guard let text = try? String(contentsOfFile: "/proc/\(processIdentifier)/stat", encoding: .utf8),
      let bracket = text.lastIndex(of: ")")
    else { return 0 }
    let fields = text[text.index(after: bracket)...].split(separator: " ")
    return fields.dropFirst(11).prefix(4).reduce(0) { $0 + (Double($1) ?? 0) }
  }
}

/// What became of this machine's processor time since the start of counting, in shares from 0 to 1; 0 where nothing is known.
struct MachineTime {
  private struct Ticks {
    var idle = 0.0
    var stolen = 0.0
    var all = 0.0
  }

  private let start = Self.ticks()

  /// What its host gave to others.
  var stolen: Double { share { $0.stolen } }
  /// What anybody used, its host's other guests included.
  var busy: Double { 1 - share { $0.idle } }

  private func share(_ part: (Ticks) -> Double) -> Double {
    let end = Self.ticks()
    return end.all > start.all ? (part(end) - part(start)) / (end.all - start.all) : 0
  }

  private static func ticks() -> Ticks {
    let line = (try? String(contentsOfFile: "/proc/stat", encoding: .utf8))?.split(separator: "\n").first ?? ""
    // user, nice, system, idle, iowait, irq, softirq, steal
    let fields = line.split(separator: " ").dropFirst().prefix(8).map { Double($0) ?? 0 }
    guard fields.count == 8 else { return Ticks() }
    return Ticks(idle: fields[3] + fields[4], stolen: fields[7], all: fields.reduce(0, +))
  }
}
