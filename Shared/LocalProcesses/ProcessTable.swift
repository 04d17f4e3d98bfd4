internal import CPidfd
internal import Foundation
internal import Glibc
internal import Threads

/// What /proc tells of the processes of this machine.
package enum ProcessTable {
  /// A process that cannot be taken for a later one with the same number.
  package struct Entry: Sendable, Hashable {
    package let processIdentifier: Int32
    package let parent: Int32
    /// Clock ticks from the machine's start to the process's.
    package let startTicks: UInt64
  }

  /// Every process that is not a zombie.
  package static func entries() -> [Entry] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { Int32($0) }.compactMap(entry)
  }

  /// The process with this number; nil when there is none or it is a zombie.
  package static func entry(_ processIdentifier: Int32) -> Entry? {
    guard let data = FileManager.default.contents(atPath: "/proc/\(processIdentifier)/stat") else { return nil }
    // The name in brackets may hold anything, brackets too, so the fields are counted after the last one.
    let text = String(decoding: data, as: UTF8.self)
    guard let bracket = text.lastIndex(of: ")") else { return nil }
    let fields = text[text.index(after: bracket)...].split(separator: " ")
    guard fields.count > 19, fields[0] != "Z", fields[0] != "X", let parent = Int32(fields[1]),
      let startTicks = UInt64(fields[19])
    else { return nil }
    return Entry(processIdentifier: processIdentifier, parent: parent, startTicks: startTicks)
  }

  /// The children of a process, their children, and so on.
  package static func descendants(of processIdentifier: Int32) -> [Entry] {
    let children = Dictionary(grouping: entries(), by: \.parent)
    var found: [Entry] = []
    var open = [processIdentifier]
    while let parent = open.popLast() {
      let next = children[parent] ?? []
      found += next
      open += next.map(\.processIdentifier)
    }
    return found
  }

  /// Whether exactly this process still runs.
  package static func isRunning(_ process: Entry) -> Bool {
    entry(process.processIdentifier)?.startTicks == process.startTicks
  }

  /// Blocks until the process has ended, also one that is not a child of ours.
  ///
  /// - Returns: false when it had not within the time.
  package static func waitForEnd(of process: Entry, timeoutMilliseconds: Int) -> Bool {
    let deadline = Deadline(afterMilliseconds: timeoutMilliseconds)
    // From here on the descriptor stands for whoever has the number now; `isRunning` says whether that is the process.
    let descriptor = pidfd_open(process.processIdentifier, 0)
    defer { if descriptor >= 0 { close(descriptor) } }
    while isRunning(process), descriptor >= 0, !deadline.isOver {
      var ending = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      _ = unsafe poll(&ending, 1, deadline.remainingMilliseconds)
    }
    return !isRunning(process)
  }
}
