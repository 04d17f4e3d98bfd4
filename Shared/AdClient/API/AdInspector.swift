internal import AdBasics
internal import Synchronization

/// What a client asked, what it got, why not, and what happened since, as text: for the app's developer, who shows it by a key
/// or a gesture of the app's own. It keeps the last requests alone.
public final class AdInspector: Sendable {
  private struct Line {
    let at: MonotonicTime
    let text: String
  }

  private struct Asked {
    let id: UUIDv7
    let placement: PlacementID
    let what: String
    let at: MonotonicTime
    var ad: AdContent?
    var lines: [Line] = []
    var omitted = 0
  }

  /// The most requests that are kept.
  private static let requestsMaximum = 20
  /// The most lines of each: the first of them, and how many more there were.
  private static let linesMaximum = 30

  private let requests = Mutex<[Asked]>([])
  private let head: @Sendable () -> [String]
  private let now: @Sendable () -> MonotonicTime

  /// - Parameter head: what is said of the client itself.
  init(now: @escaping @Sendable () -> MonotonicTime, head: @escaping @Sendable () -> [String]) {
    self.now = now
    self.head = head
  }

  /// The client, and its last requests, the newest first: lines of at most a hundred characters or so.
  public var text: String {
    let now = now()
    let asked = requests.withLock { $0 }
    let lines = head() + (asked.isEmpty ? ["nothing was asked yet"] : asked.reversed().flatMap { Self.lines($0, now) })
    return lines.joined(separator: "\n") + "\n"
  }

  private static func lines(_ asked: Asked, _ now: MonotonicTime) -> [String] {
    var lines = ["", "\(asked.placement) (\(asked.what)), asked \(seconds(asked.at, now)) ago"]
    lines.append("  handbill explain \(asked.id)")
    if let ad = asked.ad {
      let left = ad.answeredAt.advanced(byMilliseconds: ad.lifetimeMilliseconds).milliseconds(since: now)
      let kind = ad.isTest ? ", a test ad" : ""
      lines.append("  ad \(ad.ad)\(kind), brings \(ad.revenue), life left \(max(0, left) / 1_000) s")
      lines.append("  handbill explain \(ad.serveID)")
    }
    lines += asked.lines.map { "    after \(seconds(asked.at, $0.at)): \($0.text)" }
    if asked.omitted > 0 { lines.append("    … and \(asked.omitted) more") }
    return lines
  }

  private static func seconds(_ from: MonotonicTime, _ to: MonotonicTime) -> String {
    let milliseconds = max(0, to.milliseconds(since: from))
    let rest = String(milliseconds % 1_000)
    return "\(milliseconds / 1_000).\(String(repeating: "0", count: 3 - rest.count))\(rest) s"
  }

  // MARK: What objects tell it

  func asked(_ id: UUIDv7, _ placement: PlacementID, _ what: String) {
    let asked = Asked(id: id, placement: placement, what: what, at: now())
    requests.withLock { requests in
      if requests.count >= Self.requestsMaximum { requests.removeFirst() }
      requests.append(asked)
    }
  }

  /// - Parameter id: the request that led to it; nil where there was none.
  func note(_ id: UUIDv7?, _ text: String, ad: AdContent? = nil) {
    guard let id else { return }
    let line = Line(at: now(), text: text)
    requests.withLock { requests in
      guard let index = requests.lastIndex(where: { $0.id == id }) else { return }
      if let ad { requests[index].ad = ad }
      if requests[index].lines.count < Self.linesMaximum {
        requests[index].lines.append(line)
      } else {
        requests[index].omitted += 1
      }
    }
  }

  func note(_ report: AdReport, request: UUIDv7?) {
    if case .ad(let ad) = report.subject {
      note(ad.requestID, Self.text(report.kind), ad: ad)
    } else {
      note(request, Self.text(report.kind))
    }
  }

  func note(_ failure: AdFailure, request: UUIDv7?) {
    let again = failure.recoverySuggestion.map { "; \($0)" } ?? ""
    note(request, "no ad: error \(failure.code.rawValue), \(failure)\(again)")
  }

  private static func text(_ happening: AdHappening) -> String {
    switch happening {
    case .rendered: "it came on screen"
    case .viewed: "it was seen: an impression (M1)"
    case .unloaded: "its content is gone"
    case .neverShown: "it was never on screen (D3)"
    case .expiredUnseen: "its life ended before it was on screen (D5)"
    case .shownBriefly: "it was hidden sooner than it may be (D12)"
    case .failed(let error): "it failed: error \(error.rawValue), \(error.meaning)"
    case .click(_, leftApplication: true): "a click that left the app (M2)"
    case .click(let lasted, leftApplication: false): "a click, \(lasted) ms in its action (M2, M7)"
    case .blocked: "a tap that the app refused (D7)"
    case .cancelled(let lasted): "the app cancelled the action after \(lasted) ms (D9)"
    }
  }
}
