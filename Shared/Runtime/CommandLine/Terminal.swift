internal import Glibc
internal import Synchronization

/// The streams of this process. Results go to standard output; all else goes to standard error.
package enum Terminal {
  package static let standardOutput: Int32 = 1
  package static let standardError: Int32 = 2

  /// Whether a person looks at the stream.
  package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// Whether colours may be written: on a terminal that is not `dumb`, without `--no-color` and `NO_COLOR`.
  package static func allowsColor(
    _ descriptor: Int32, environment: [String: String], isForbidden: Bool = false
  ) -> Bool {
    guard !isForbidden, environment["NO_COLOR", default: ""].isEmpty, environment["TERM"] != "dumb" else {
      return false
    }
    return isTerminal(descriptor)
  }

  /// Writes a line to standard output.
  ///
  /// - Returns: false when nobody reads any more (a closed pipe); the caller may stop quietly.
  @discardableResult
  package static func print(_ line: String) -> Bool { write(line + "\n", to: standardOutput) }

  /// Writes a line to standard error.
  package static func note(_ line: String) { write(line + "\n", to: standardError) }

  /// Writes all of `text`, however often the kernel takes only a part.
  @discardableResult
  package static func write(_ text: String, to descriptor: Int32) -> Bool {
    var text = text
    return text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while let start = rest.baseAddress, unsafe !rest.isEmpty {
        let written = unsafe Glibc.write(descriptor, start, rest.count)
        if written > 0 {
          unsafe rest = unsafe UnsafeRawBufferPointer(rebasing: rest[written...])
        } else if errno == EAGAIN {
          // The stream is shared with a program that made it non-blocking: wait until it takes more.
          var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          unsafe poll(&waiting, 1, 1_000)
        } else if errno != EINTR {
          return false
        }
      }
      return true
    }
  }
}

/// One line on standard error that is overwritten; silent when nobody looks, and for work of less than a second.
package final class ProgressLine: Sendable {
  private static let quietMilliseconds: Int64 = 1_000
  private static let intervalMilliseconds: Int64 = 100

  private struct State {
    var shownAt: Int64?
    var width = 0
  }

  private let isShown: Bool
  private let startedAt: Int64
  private let now: @Sendable () -> Int64
  private let write: @Sendable (String) -> Void
  private let state = Mutex(State())

  /// - Parameter now: milliseconds of a clock that never goes back.
  package init(
    isShown: Bool = Terminal.isTerminal(Terminal.standardError),
    now: @escaping @Sendable () -> Int64 = { SystemClock().monotonicMilliseconds },
    write: @escaping @Sendable (String) -> Void = { Terminal.write($0, to: Terminal.standardError) }
  ) {
    self.isShown = isShown
    self.now = now
    self.write = write
    startedAt = now()
  }

  /// Shows `text`, at most ten times a second.
  package func show(_ text: String) {
    guard isShown else { return }
    let time = now()
    state.withLock { state in
      guard time - startedAt >= Self.quietMilliseconds else { return }
      if let shownAt = state.shownAt, time - shownAt < Self.intervalMilliseconds { return }
      let line = TextSafety.singleLine(text)
      let padding = String(repeating: " ", count: max(0, state.width - line.count))
      state.shownAt = time
      state.width = line.count
      write("\r" + line + padding)
    }
  }

  /// Removes the line, so that what comes next begins on an empty one.
  package func finish() {
    state.withLock { state in
      guard state.shownAt != nil else { return }
      write("\r" + String(repeating: " ", count: state.width) + "\r")
      state = State()
    }
  }
}
