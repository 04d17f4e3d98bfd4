internal import AdBasics
internal import Foundation

/// What was answered from where the edge should be, and whose word it is: between a device and the edge stand captive portals
/// and proxies, and an address may be wrong.
struct EdgeAnswer: Sendable {
  enum Meaning: Hashable, Sendable {
    /// The edge did what it was asked; the body says what came of it.
    case done
    /// The edge refuses all of it, by a number of its contract.
    case refused
    /// Not now: the edge says so, or somebody on the way to it.
    case later
    /// It is no word of an edge.
    case foreign
  }

  /// Statuses by which anybody on the way says that the same may be sent again.
  private static let laterStatuses: Set<Int> = [408, 425, 429]
  private static let noAnswerStatus = 504
  /// Below are the contract's numbers; from here on they repeat the status.
  private static let httpNumbersBegin = 400
  private static let gatewayStatuses: Set<Int> = [502, noAnswerStatus]
  /// The longest pause that an answer may ask for, in seconds.
  private static let retryAfterSecondsMaximum: Int64 = 3_600

  let status: Int
  let body: [UInt8]
  let meaning: Meaning
  /// How long the sender shall wait; nil where nobody says.
  let retryAfterMilliseconds: Int64?
  /// The contract's number, where the edge refuses.
  private let number: Int?
  private let said: String
  private let contentType: String
  private let location: String?

  /// - Parameter header: a header's value by its name.
  init(status: Int, body: [UInt8], header: (String) -> String?) {
    self.status = status
    self.body = body
    contentType = String((header("Content-Type") ?? "").prefix { $0 != ";" }).filter { $0 != " " }.lowercased()
    location = header("Location")
    retryAfterMilliseconds = header("Retry-After").flatMap { Self.pause($0, answeredAt: header("Date")) }
    let problem = contentType == "application/problem+json" ? EdgeProblem(body) : nil
    // A number of HTTP's own is anybody's, and at a wrong address an honest one: nothing is given up for it.
    let number = problem?.number.flatMap { $0 < Self.httpNumbersBegin ? $0 : nil }
    self.number = number
    said = problem?.sentence ?? "status \(status)"
    meaning =
      if Self.laterStatuses.contains(status) || status >= 500 {
        .later
      } else if status == 200 {
        contentType == "application/protobuf" ? .done : .foreign
      } else {
        number == nil ? .foreign : .refused
      }
  }

  /// The network has the request: it is answered, or the edge says that nobody answered in time.
  var hasArrived: Bool { meaning == .done || status == Self.noAnswerStatus && number != nil }

  /// Somebody on the way handed the request on, and heard nothing good of it: nobody knows whether the network has it.
  var mayHaveArrived: Bool { number == nil && Self.gatewayStatuses.contains(status) }

  /// What is wrong, for the app's developer.
  func sentence(from address: String) -> String {
    switch meaning {
    case .done, .foreign:
      let kind = location.map { "sent on to \($0)" } ?? (contentType.isEmpty ? "no content type" : contentType)
      return
        "who answers at \(address) is not the network's edge (\(said), \(kind)): a captive portal that wants to be "
        + "logged in to, a proxy, or a wrong address"
    case .refused: return said
    case .later: return number == nil ? "\(address) takes nothing now: \(said)" : said
    }
  }

  /// A value of `Retry-After`: seconds, or a date, which is compared with the answer's own.
  private static func pause(_ value: String, answeredAt: String?) -> Int64? {
    var seconds = Int64(value)
    if seconds == nil, let until = httpDate(value) {
      let now = answeredAt.flatMap(httpDate) ?? Date()
      seconds = Int64(min(max(until.timeIntervalSince(now), 0), Double(retryAfterSecondsMaximum)))
    }
    return seconds.map { min(max($0, 1), retryAfterSecondsMaximum) * 1_000 }
  }

  private static func httpDate(_ text: String) -> Date? {
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.timeZone = TimeZone(identifier: "GMT")
    format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    return format.date(from: text)
  }
}

/// What the edge says when it does not do what it was asked (RFC 9457).
private struct EdgeProblem: Decodable {
  var detail: String?
  var title: String?
  var number: Int?

  init?(_ body: [UInt8]) {
    guard let problem = try? JSONDecoder().decode(EdgeProblem.self, from: Data(body)) else { return nil }
    self = problem
  }

  var sentence: String? { detail ?? title }
}
