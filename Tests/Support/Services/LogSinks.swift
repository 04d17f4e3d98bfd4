package import Runtime
internal import Synchronization

/// Throws away what is logged.
package struct NoSink: LogSink {
  package init() {}
  package func write(_ line: String) {}
}

/// Keeps what is logged.
package final class CapturingSink: LogSink {
  private let captured = Mutex<[String]>([])

  package init() {}
  package var lines: [String] { captured.withLock { $0 } }
  package func write(_ line: String) { captured.withLock { $0.append(line) } }
}

extension Logger {
  /// A logger that nobody reads.
  package static let unread = Logger(name: "test", service: "test", format: .json, sink: NoSink())
}
