internal import JSON
internal import Operations

/// One thing that `handbill doctor` or `handbill app check` has looked at.
struct Finding: Hashable, Sendable {
  enum State: String, Hashable, Sendable {
    case good
    case wrong
    /// Otherwise than usual, as somebody wants it: nothing is to be changed.
    case noted
    /// It could not be seen.
    case unknown
  }

  /// Where it is: `topics`, `access`, `brokers`, `postgres`, `clocks`, `disk`; of an app also `catalogue` and `answer`.
  var area: String
  var subject: String
  var state: State
  /// What is there.
  var found: String
  /// What to change; nil where nothing is to be.
  var advice: String?

  static func good(_ area: String, _ subject: String, _ found: String) -> Finding {
    Finding(area: area, subject: subject, state: .good, found: found)
  }

  static func wrong(_ area: String, _ subject: String, _ found: String, _ advice: String) -> Finding {
    Finding(area: area, subject: subject, state: .wrong, found: found, advice: advice)
  }

  static func noted(_ area: String, _ subject: String, _ found: String) -> Finding {
    Finding(area: area, subject: subject, state: .noted, found: found)
  }

  static func unknown(_ area: String, _ subject: String, _ why: String) -> Finding {
    Finding(area: area, subject: subject, state: .unknown, found: why)
  }

  /// `found`, and what to do where it is not `wanted`.
  static func judged(_ area: String, _ subject: String, _ found: String, isGood: Bool, _ advice: String) -> Finding {
    isGood ? good(area, subject, found) : wrong(area, subject, found, advice)
  }

  var json: JSONValue {
    [
      "area": .text(area), "subject": .text(subject), "state": .text(state.rawValue), "found": .text(found),
      "advice": .optional(advice),
    ]
  }

  /// For a terminal: what is wrong first, each with what to change.
  static func text(_ findings: [Finding]) -> String {
    let order: [State] = [.wrong, .unknown, .noted, .good]
    let sorted = order.flatMap { state in findings.filter { $0.state == state } }
    let rows = sorted.map { [$0.state.rawValue, $0.area, $0.subject, $0.found, $0.advice.map { "do: \($0)" } ?? ""] }
    let wrong = findings.count { $0.state == .wrong }
    return TextTable.text(rows) + "\n\(findings.count) looked at, \(wrong) to change"
  }
}
