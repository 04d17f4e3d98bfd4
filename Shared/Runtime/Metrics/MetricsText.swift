/// Prometheus' text format 0.0.4.
package enum MetricsText {
  static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  static func appendHead(_ declaration: MetricDeclaration, to output: inout String) {
    let type =
      switch declaration.kind {
      case .counter: "counter"
      case .gauge: "gauge"
      case .histogram: "histogram"
      }
    output += "# HELP \(declaration.name) \(escape(declaration.help, quotes: false))\n"
    output += "# TYPE \(declaration.name) \(type)\n"
  }

  static func appendSample(_ name: String, _ labels: [(String, String)], _ value: String, to output: inout String) {
    output += name
    if !labels.isEmpty {
      let pairs = labels.map { "\($0)=\"\(escape($1, quotes: true))\"" }
      output += "{\(pairs.joined(separator: ","))}"
    }
    output += " \(value)\n"
  }

  static func appendHistogram(
    _ name: String, _ labels: [(String, String)], _ histogram: Histogram, to output: inout String
  ) {
    let (cumulative, sum) = histogram.snapshot
    for (bound, count) in zip(histogram.bounds + [.infinity], cumulative) {
      appendSample(name + "_bucket", labels + [("le", number(bound))], "\(count)", to: &output)
    }
    appendSample(name + "_sum", labels, number(sum), to: &output)
    appendSample(name + "_count", labels, "\(cumulative.last ?? 0)", to: &output)
  }

  static func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
    // Whole numbers without `.0`; the bound keeps the conversion exact.
    if value == value.rounded(), value.magnitude < 9e15 { return "\(Int64(value))" }
    return "\(value)"
  }

  /// Backslash, line end and, in labels, the quotation mark are all that the format escapes.
  package static func escape(_ text: String, quotes: Bool) -> String {
    var output = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": output += "\\\\"
      case "\n": output += "\\n"
      case "\"" where quotes: output += "\\\""
      default: output.unicodeScalars.append(scalar)
      }
    }
    return output
  }
}
