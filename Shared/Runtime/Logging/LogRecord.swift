package import AdCore
internal import JSON

/// How important a log record is, least first.
package enum LogLevel: String, Sendable, CaseIterable, Comparable {
  case trace, debug, info, notice, warning, error, critical

  private var rank: Int {
    switch self {
    case .trace: 0
    case .debug: 1
    case .info: 2
    case .notice: 3
    case .warning: 4
    case .error: 5
    case .critical: 6
    }
  }

  package static func < (left: LogLevel, right: LogLevel) -> Bool { left.rank < right.rank }
}

/// A value in a log record's metadata.
package enum LogValue: Sendable, Equatable {
  case text(String)
  case integer(Int64)
  case number(Double)
  case boolean(Bool)
  /// A secret: it is known that there is a value, and nothing else.
  case redacted

  package init(_ text: some StringProtocol) { self = .text(String(text)) }
  package init(_ number: some BinaryInteger) { self = .integer(Int64(clamping: number)) }
  /// Whatever `value` says of itself.
  package init(describing value: some Sendable) { self = .text(String(describing: value)) }
}

extension LogValue: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByFloatLiteral
{
  package init(stringLiteral value: String) { self = .text(value) }
  package init(integerLiteral value: Int64) { self = .integer(value) }
  package init(booleanLiteral value: Bool) { self = .boolean(value) }
  package init(floatLiteral value: Double) { self = .number(value) }
}

/// Flat metadata in the order given.
package typealias LogMetadata = KeyValuePairs<String, LogValue>

/// One thing that happened.
package struct LogRecord: Sendable {
  package let time: Timestamp
  package let level: LogLevel
  package let logger: String
  package let service: String
  package let message: String
  package let metadata: [(name: String, value: LogValue)]

  package init(
    time: Timestamp, level: LogLevel, logger: String, service: String, message: String,
    metadata: [(name: String, value: LogValue)]
  ) {
    self.time = time
    self.level = level
    self.logger = logger
    self.service = service
    self.message = message
    self.metadata = metadata
  }
}

/// How records become lines.
package enum LogFormat: Sendable {
  /// JSON, one object a line.
  case json
  /// For eyes.
  case human(color: Bool)

  /// The record as exactly one line, with its line end.
  package func line(_ record: LogRecord) -> String {
    switch self {
    case .json: LogFormat.json(record)
    case .human(let color): LogFormat.human(record, color: color)
    }
  }

  private static func json(_ record: LogRecord) -> String {
    var members: [JSONValue.Member] = [
      .init("timestamp", .text(record.time.rfc3339Text)), .init("level", .text(record.level.rawValue)),
      .init("logger", .text(TextSafety.cut(record.logger))), .init("message", .text(TextSafety.cut(record.message))),
      .init("service", .text(TextSafety.cut(record.service))),
    ]
    var taken = Set(members.map(\.name))
    // A name that is taken already would make the object ambiguous.
    for (name, value) in record.metadata where taken.insert(name).inserted {
      members.append(.init(TextSafety.cut(name, bytesMaximum: 128), json(value)))
    }
    return JSONValue.object(members).compactText + "\n"
  }

  private static func json(_ value: LogValue) -> JSONValue {
    switch value {
    case .text(let text): .text(TextSafety.cut(text))
    case .integer(let number): .integer(number)
    // JSON has no infinities.
    case .number(let number): number.isFinite ? .number("\(number)") : .null
    case .boolean(let boolean): .flag(boolean)
    case .redacted: "(secret)"
    }
  }

  private static func human(_ record: LogRecord, color: Bool) -> String {
    let level = record.level.rawValue
    let padded = level + String(repeating: " ", count: max(0, 8 - level.count))
    let shade =
      switch record.level {
      case .trace, .debug: "\u{1B}[2m"
      case .info, .notice: "\u{1B}[32m"
      case .warning: "\u{1B}[33m"
      case .error, .critical: "\u{1B}[31m"
      }
    let time = record.time.rfc3339Text.dropFirst(11).dropLast()
    var line = "\(time) " + (color ? shade + padded + "\u{1B}[0m" : padded)
    line += " \(TextSafety.singleLine(record.logger)): \(TextSafety.singleLine(record.message))"
    for (name, value) in record.metadata {
      let shown =
        switch value {
        case .text(let text): TextSafety.singleLine(text)
        case .integer(let number): String(number)
        case .number(let number): "\(number)"
        case .boolean(let boolean): "\(boolean)"
        case .redacted: "(secret)"
        }
      line += " \(TextSafety.singleLine(name, bytesMaximum: 128))=\(shown)"
    }
    return line + "\n"
  }
}
