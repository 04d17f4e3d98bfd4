import AdCore
import Foundation
import HTTP
import Runtime

/// Whatever strangers send is one line in a log, one value of a label, and text in a page. The first byte chooses.
enum LogTextTarget {
  static let target = FuzzTarget(
    "shown-text", inputBytesMaximum: 2_048,
    words: ["\u{1B}[31m", "\u{202E}", "<script>", "\\u{", "\r\n", "\"", "&amp;"],
    seeds: { seeds }, fault: fault)

  private static func fault(_ input: UnsafeRawBufferPointer) -> String? {
    guard let choice = input.first else { return nil }
    let text = input.dropping(1).text
    switch choice % 3 {
    case 0: return lineFault(text)
    case 1: return markupFault(text)
    default: return labelFault(text)
    }
  }

  private static func lineFault(_ text: String) -> String? {
    let record = LogRecord(
      time: FuzzKeys.now, level: .info, logger: "fuzz", service: "fuzz", message: text,
      metadata: [(name: text, value: .text(text)), (name: "message", value: .text(text))])
    let json = LogFormat.json.line(record)
    guard isOneLine(json) else { return "a JSON line is not one line" }
    guard let object = try? JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any] else {
      return "a JSON line is no JSON"
    }
    guard object["message"] is String, object["logger"] as? String == "fuzz" else { return "a field was put in" }
    return isOneLine(LogFormat.human(color: false).line(record)) ? nil : "a line for eyes is not one line"
  }

  /// One line end, at the end, and nothing that a terminal obeys.
  private static func isOneLine(_ line: String) -> Bool {
    line.hasSuffix("\n") && line.utf8.count <= 64 * 1_024
      && !line.dropLast().unicodeScalars.contains { scalar in
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
      }
  }

  private static func markupFault(_ text: String) -> String? {
    let markup = HTML.element("p", [.named("title", text)]) { .text(text) }.markup
    let inner = markup.utf8.dropFirst("<p title=\"".utf8.count).dropLast("</p>".utf8.count)
    let special: (UInt8) -> Bool = { $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: "\"") }
    // The quotation mark and the bracket that are ours, between attribute and text.
    let ours = inner.filter(special).count + inner.filter { $0 == UInt8(ascii: ">") }.count
    return ours == 2 ? nil : "text became markup: \(markup)"
  }

  private static func labelFault(_ text: String) -> String? {
    let escaped = MetricsText.escape(text, quotes: true)
    var isEscape = false
    for byte in escaped.utf8 {
      if byte == UInt8(ascii: "\n") { return "a line end in a label" }
      if byte == UInt8(ascii: "\""), !isEscape { return "a label ends too early" }
      isEscape = byte == UInt8(ascii: "\\") && !isEscape
    }
    return isEscape ? "a label takes its own end away" : nil
  }

  private static var seeds: [[UInt8]] {
    let texts = [
      "plain", "a\r\nb", "\u{1B}[2J", "\u{202E}gnp.exe", "'; DROP TABLE ads;--", "<script>alert(1)</script>",
      "=cmd()|' /C calc'!A0", "\" onload=\"x", "{{7*7}} %n%s", "\\", "a\u{0}b", "\u{2028}",
    ]
    return texts.flatMap { text in (UInt8(0)..<3).map { [$0] + Array(text.utf8) } }
  }
}
