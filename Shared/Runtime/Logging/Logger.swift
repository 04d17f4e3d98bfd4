package import AdCore
internal import Synchronization

/// Where lines go.
package protocol LogSink: Sendable {
  func write(_ line: String)
}

/// A file descriptor. Each line is written whole, so that lines of several threads do not mix.
package final class DescriptorSink: LogSink {
  private let descriptor: Int32
  private let order = Mutex(())

  package init(_ descriptor: Int32) { self.descriptor = descriptor }

  package func write(_ line: String) {
    order.withLock { _ in _ = Terminal.write(line, to: descriptor) }
  }
}

/// Writes records of one part of a program. Copies share their destination and limits.
///
/// Services log to standard output (one JSON object a line, or lines for eyes on a terminal); the command logs to
/// standard error, because its standard output holds results.
package struct Logger: Sendable {
  /// The part that speaks, such as `kafka.consumer`.
  package let name: String
  package let service: String
  package let level: LogLevel
  private let format: LogFormat
  private let sink: any LogSink
  private let clock: any TimeSource
  private let limit: RepeatLimit

  package init(
    name: String, service: String, level: LogLevel = .info, format: LogFormat, sink: any LogSink,
    clock: any TimeSource = SystemClock()
  ) {
    self.init(
      name: name, service: service, level: level, format: format, sink: sink, clock: clock, limit: RepeatLimit())
  }

  private init(
    name: String, service: String, level: LogLevel, format: LogFormat, sink: any LogSink, clock: any TimeSource,
    limit: RepeatLimit
  ) {
    self.name = name
    self.service = service
    self.level = level
    self.format = format
    self.sink = sink
    self.clock = clock
    self.limit = limit
  }

  /// For a stream of this process: lines for eyes on a terminal, else JSON.
  package static func forStream(
    _ descriptor: Int32, service: String, level: LogLevel, environment: [String: String]
  ) -> Logger {
    let color = Terminal.allowsColor(descriptor, environment: environment)
    let format: LogFormat = Terminal.isTerminal(descriptor) ? .human(color: color) : .json
    return Logger(name: service, service: service, level: level, format: format, sink: DescriptorSink(descriptor))
  }

  /// The same destination under another name.
  package func named(_ name: String) -> Logger {
    Logger(name: name, service: service, level: level, format: format, sink: sink, clock: clock, limit: limit)
  }

  package func log(_ level: LogLevel, _ message: @autoclosure () -> String, _ metadata: LogMetadata = [:]) {
    guard level >= self.level else { return }
    emit(level, message(), metadata.map { (name: $0.key, value: $0.value) })
  }

  /// Logs at most `perMinute` records of the same `key` in a minute; the first one after them says how many were left
  /// out.
  package func limited(
    _ level: LogLevel, key: String, perMinute: Int = 6, _ message: @autoclosure () -> String,
    _ metadata: LogMetadata = [:]
  ) {
    guard level >= self.level,
      let leftOut = limit.admit(key, perMinute: perMinute, now: clock.monotonicMilliseconds)
    else { return }
    var fields = metadata.map { (name: $0.key, value: $0.value) }
    if leftOut > 0 { fields.append((name: "left_out", value: LogValue(leftOut))) }
    emit(level, message(), fields)
  }

  package func debug(_ message: @autoclosure () -> String, _ metadata: LogMetadata = [:]) {
    log(.debug, message(), metadata)
  }
  package func info(_ message: @autoclosure () -> String, _ metadata: LogMetadata = [:]) {
    log(.info, message(), metadata)
  }
  package func notice(_ message: @autoclosure () -> String, _ metadata: LogMetadata = [:]) {
    log(.notice, message(), metadata)
  }
  package func warning(_ message: @autoclosure () -> String, _ metadata: LogMetadata = [:]) {
    log(.warning, message(), metadata)
  }
  package func error(_ message: @autoclosure () -> String, _ metadata: LogMetadata = [:]) {
    log(.error, message(), metadata)
  }
  package func critical(_ message: @autoclosure () -> String, _ metadata: LogMetadata = [:]) {
    log(.critical, message(), metadata)
  }

  private func emit(_ level: LogLevel, _ message: String, _ metadata: [(name: String, value: LogValue)]) {
    let record = LogRecord(
      time: clock.now, level: level, logger: name, service: service, message: message, metadata: metadata)
    sink.write(format.line(record))
  }
}

/// Counts records by key and minute.
package final class RepeatLimit: Sendable {
  /// The most keys kept; what comes after them shares one count.
  package static let keysMaximum = 1_000
  private static let windowMilliseconds: Int64 = 60_000

  private struct Window {
    var startedAt: Int64
    var count: Int
    var leftOut: Int
  }

  private let windows = Mutex<[String: Window]>([:])

  package init() {}

  /// Nil when the record is to be left out, else how many were left out before it.
  package func admit(_ key: String, perMinute: Int, now: Int64) -> Int? {
    windows.withLock { windows in
      let key = windows[key] != nil || windows.count < Self.keysMaximum ? key : ""
      var window = windows[key] ?? Window(startedAt: now, count: 0, leftOut: 0)
      if now - window.startedAt >= Self.windowMilliseconds {
        window.startedAt = now
        window.count = 0
      }
      defer { windows[key] = window }
      window.count += 1
      guard window.count <= perMinute else {
        window.leftOut += 1
        return nil
      }
      defer { window.leftOut = 0 }
      return window.leftOut
    }
  }
}
