package import Runtime

/// Throws away what is logged.
package struct NoSink: LogSink {
  package init() {}
  package func write(_ line: String) {}
}

extension Logger {
  /// A logger that nobody reads.
  package static let unread = Logger(name: "test", service: "test", format: .json, sink: NoSink())
}
