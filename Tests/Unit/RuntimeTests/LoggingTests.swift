import AdCore
import Foundation
import TestServices
import TestValues
import Testing

@testable import Runtime

/// A clock that stands at 2026-07-14T03:33:20.123Z until a test moves it.
func standingClock() -> MovingClock { MovingClock(Timestamp(milliseconds: 1_784_000_000_123)) }

@Suite("Logging")
struct LoggingTests {
  private static let hostile = [
    "two\nlines", "\r\u{0}\u{7}\u{8}\u{7F}", "\u{1B}[31mred", "\u{202E}turned", "\u{2066}\u{200F}\u{061C}",
    "next\u{85}line\u{2028}and\u{2029}more", "\"},{\"level\":\"error\"", "back\\slash", "e\u{E0001}tag",
  ]

  private func logged(_ format: LogFormat, _ text: String) throws -> String {
    let sink = CapturingSink()
    let logger = Logger(name: "test", service: "s", format: format, sink: sink, clock: standingClock())
    logger.info(text, ["name": "\(text)", "\(text)": 1])
    return try #require(sink.lines.first)
  }

  @Test("whatever a stranger writes stays in one JSON line and comes out unchanged", arguments: hostile)
  func jsonInjection(text: String) throws {
    let line = try logged(.json, text)
    let inner = line.dropLast()
    #expect(line.last == "\n")
    #expect(inner.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.properties.generalCategory != .format })
    #expect(!inner.unicodeScalars.contains { ["\u{85}", "\u{2028}", "\u{2029}", "\u{7F}"].contains($0) })
    let object = try JSONSerialization.jsonObject(with: Data(inner.utf8)) as? [String: Any]
    #expect(object?["message"] as? String == text)
    #expect(object?["name"] as? String == text)
    #expect(object?["level"] as? String == "info")
    #expect(object?["timestamp"] as? String == "2026-07-14T03:33:20.123Z")
  }

  @Test("whatever a stranger writes stays in one line without controls for eyes", arguments: hostile)
  func humanInjection(text: String) throws {
    let line = try logged(.human(color: false), text)
    #expect(line.last == "\n")
    #expect(
      line.dropLast().unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F && $0.value != 0x202E })
  }

  @Test("long text is cut")
  func truncation() throws {
    let line = try logged(.json, String(repeating: "é", count: 100_000))
    #expect(line.utf8.count < 3 * TextSafety.bytesMaximum)
    #expect(line.contains("…"))
  }

  @Test("metadata cannot take the place of a record's own fields")
  func reservedNames() throws {
    let sink = CapturingSink()
    let logger = Logger(name: "test", service: "s", format: .json, sink: sink)
    logger.error("m", ["level": "info", "a": 1, "a": 2, "key": .redacted, "x": .number(.infinity), "b": true])
    let line = try #require(sink.lines.first)
    #expect(line.contains("\"level\":\"error\"") && !line.contains("\"level\":\"info\""))
    #expect(line.contains("\"a\":1") && !line.contains("\"a\":2"))
    #expect(line.contains("\"key\":\"(secret)\"") && line.contains("\"x\":null") && line.contains("\"b\":true"))
  }

  @Test("records below the level are not written")
  func levels() {
    let sink = CapturingSink()
    let logger = Logger(name: "t", service: "s", level: .warning, format: .json, sink: sink)
    logger.info("no")
    logger.warning("yes")
    #expect(sink.lines.count == 1)
  }

  @Test("repeating warnings are limited per key and minute, and the rest is counted")
  func limits() {
    let sink = CapturingSink()
    let clock = standingClock()
    let logger = Logger(name: "t", service: "s", format: .json, sink: sink, clock: clock)
    for _ in 0..<10 { logger.named("u").limited(.warning, key: "down", perMinute: 2, "down") }
    logger.limited(.warning, key: "other", perMinute: 2, "other")
    #expect(sink.lines.count == 3)
    clock.advance(byMilliseconds: 60_000)
    logger.limited(.warning, key: "down", perMinute: 2, "down")
    #expect(sink.lines.last?.contains("\"left_out\":8") == true)
  }

  @Test(
    "RFC 3339 text agrees with the calendar",
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
      (4_107_542_399_999, "2100-02-28T23:59:59.999Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
      (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
    ] as [(Int64, String)])
  func rfc3339(milliseconds: Int64, text: String) {
    #expect(Timestamp(milliseconds: milliseconds).rfc3339Text == text)
  }
}
