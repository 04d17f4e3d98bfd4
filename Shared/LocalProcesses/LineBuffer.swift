internal import Foundation
internal import Glibc
internal import Threads

/// The lines that a child prints, read on threads of their own and kept up to a limit.
final class LineBuffer: Sendable {
  /// What waiting for a line came to.
  enum Outcome: Equatable {
    case line(String)
    /// Every output is closed.
    case ended
    /// The time was over.
    case late
  }

  /// How many lines are kept; older ones are forgotten.
  static let keptLines = 1_000
  /// A longer line is cut into pieces of this many bytes.
  static let longestLineBytes = 65_536

  private struct State {
    var lines: [String] = []
    /// How many of `lines` a wait has passed already.
    var readLines = 0
    var openOutputs = 0
  }

  private let state = Monitor(State())

  var lastLines: [String] { state.withLock { $0.lines } }

  /// Reads lines from a descriptor until its end, and closes it and the copy.
  func read(_ descriptor: Int32, alsoTo copy: Int32?) {
    state.withLock { $0.openOutputs += 1 }
    _ = OwnerThread("lines") { [self] in
      pump(descriptor, copy)
      close(descriptor)
      if let copy { close(copy) }
      state.update { $0.openOutputs -= 1 }
    }
  }

  /// Waits for the next line that matches.
  func wait(timeoutMilliseconds: Int, where matches: (String) -> Bool) -> Outcome {
    let outcome = state.waitForResult(timeoutMilliseconds: timeoutMilliseconds) { state -> Outcome? in
      while state.readLines < state.lines.count {
        let line = state.lines[state.readLines]
        state.readLines += 1
        if matches(line) { return .line(line) }
      }
      return state.openOutputs == 0 ? .ended : nil
    }
    return outcome ?? .late
  }

  /// Waits until every output is closed, or the time is over.
  func awaitEnd(timeoutMilliseconds: Int) {
    _ = state.wait(timeoutMilliseconds: timeoutMilliseconds) { $0.openOutputs == 0 }
  }

  private func pump(_ descriptor: Int32, _ copy: Int32?) {
    var buffer = [UInt8](repeating: 0, count: 16_384)
    var partial: [UInt8] = []
    while true {
      let count = unsafe buffer.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { break }
      if let copy { unsafe buffer.withUnsafeBytes { _ = unsafe Glibc.write(copy, $0.baseAddress, count) } }
      for byte in buffer[..<count] {
        if byte == UInt8(ascii: "\n") || partial.count == Self.longestLineBytes {
          append(partial)
          partial.removeAll(keepingCapacity: true)
        }
        if byte != UInt8(ascii: "\n") { partial.append(byte) }
      }
    }
    if !partial.isEmpty { append(partial) }
  }

  private func append(_ bytes: [UInt8]) {
    let line = String(decoding: bytes, as: UTF8.self)
    state.update { state in
      if state.lines.count >= Self.keptLines {
        let dropped = Self.keptLines / 2
        state.lines.removeFirst(dropped)
        state.readLines = max(0, state.readLines - dropped)
      }
      state.lines.append(line)
    }
  }
}
