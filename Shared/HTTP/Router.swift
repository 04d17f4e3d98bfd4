/// Answers a request. It runs on one of the server's own threads and may block.
package typealias HTTPHandler = @Sendable (HTTPRequest) throws -> HTTPResponse

/// Takes a request, and answers it now or later. It runs on one of the server's own threads and must not block.
package typealias HTTPLaterHandler = @Sendable (HTTPRequest, HTTPReply) -> Void

/// Finds the handler for a method and a path.
package struct Router: Sendable {
  /// The longest path, in segments.
  package static let segmentsMaximum = 32

  private enum Segment: Sendable, Equatable {
    case literal(String)
    case parameter(String)
  }

  enum Handler: Sendable {
    case now(HTTPHandler)
    case later(HTTPLaterHandler)
  }

  private struct Route: Sendable {
    let method: HTTPMethod
    let segments: [Segment]
    let handler: Handler
  }

  enum Match {
    case found(Handler, parameters: [String: String])
    case wrongMethod(allowed: [String])
    case notFound
  }

  private var routes: [Route] = []
  /// Asked before each handler, of either kind; what it throws is the answer.
  let admission: @Sendable (HTTPRequest) throws(HTTPProblem) -> Void

  /// - Parameter admission: throws what a request is answered with that no handler shall see.
  package init(admission: @escaping @Sendable (HTTPRequest) throws(HTTPProblem) -> Void = { _ in }) {
    self.admission = admission
  }

  /// Registers a handler. A segment that begins with `:` takes any one segment, as in `/campaigns/:campaign/ads`. Of
  /// several routes that match, the first one registered answers.
  package mutating func on(_ method: HTTPMethod, _ pattern: String, _ handler: @escaping HTTPHandler) {
    add(method, pattern, .now(handler))
  }

  /// The same with a handler that may answer later; the connection waits meanwhile, and holds up no thread.
  package mutating func onLater(_ method: HTTPMethod, _ pattern: String, _ handler: @escaping HTTPLaterHandler) {
    add(method, pattern, .later(handler))
  }

  private mutating func add(_ method: HTTPMethod, _ pattern: String, _ handler: Handler) {
    let segments = Router.split(pattern).map { segment in
      segment.hasPrefix(":") ? Segment.parameter(String(segment.dropFirst())) : .literal(segment)
    }
    routes.append(Route(method: method, segments: segments, handler: handler))
  }

  package mutating func get(_ pattern: String, _ handler: @escaping HTTPHandler) { on(.get, pattern, handler) }

  /// - Parameter segments: decoded, so that an escaped slash stays within its segment.
  func match(_ method: HTTPMethod?, _ segments: [String]) -> Match {
    var allowed: [String] = []
    for route in routes {
      guard let parameters = Router.parameters(route.segments, segments) else { continue }
      if route.method == method { return .found(route.handler, parameters: parameters) }
      if !allowed.contains(route.method.rawValue) { allowed.append(route.method.rawValue) }
    }
    if allowed.contains("GET") { allowed.append("HEAD") }
    return allowed.isEmpty ? .notFound : .wrongMethod(allowed: allowed)
  }

  /// The parts between slashes; a slash at the end does not count.
  static func split(_ path: String) -> [String] {
    var parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    if parts.first == "" { parts.removeFirst() }
    if parts.last == "" { parts.removeLast() }
    return parts
  }

  private static func parameters(_ pattern: [Segment], _ segments: [String]) -> [String: String]? {
    guard pattern.count == segments.count else { return nil }
    var parameters: [String: String] = [:]
    for (part, segment) in zip(pattern, segments) {
      switch part {
      case .literal(let literal): guard literal == segment else { return nil }
      case .parameter(let name):
        guard !segment.isEmpty else { return nil }
        parameters[name] = segment
      }
    }
    return parameters
  }
}

/// Percent escapes of RFC 3986.
package enum PercentEncoding {
  /// Nil for an incomplete escape, for bytes that are no UTF-8, and for control characters, which no path of ours has.
  package static func decode(_ text: some StringProtocol) -> String? {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else { return nil }
      bytes.append(high << 4 | low)
    }
    guard let decoded = String(validating: bytes, as: UTF8.self), decoded.isSoonCompared,
      !decoded.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
    else { return nil }
    return decoded
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

extension String {
  /// The longest text that is no ASCII, in bytes.
  private static let strangeBytesMaximum = 512

  /// Whether it takes no long time to find out what it is equal to. Texts are compared as they look: combining marks are put into
  /// order each time, in a time that grows with the square of their number.
  var isSoonCompared: Bool { utf8.count <= Self.strangeBytesMaximum || utf8.allSatisfy { $0 < 0x80 } }
}
