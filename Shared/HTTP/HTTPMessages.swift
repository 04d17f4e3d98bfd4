package import JSON

/// The methods that handlers are registered for. A `HEAD` request is answered by the `GET` handler, without the body.
package enum HTTPMethod: String, Sendable, CaseIterable {
  case get = "GET"
  case post = "POST"
  case options = "OPTIONS"
}

/// A request, complete with its body.
package struct HTTPRequest: Sendable {
  package let method: HTTPMethod
  /// Decoded, always beginning with `/`.
  package let path: String
  /// Decoded, in the order given.
  package let query: [(name: String, value: String)]
  /// Names in lower case, in the order given.
  package let headers: [(name: String, value: String)]
  package let body: [UInt8]
  /// What stood in the places of the pattern's parameters, decoded.
  package let parameters: [String: String]
  /// The IP address of whoever is connected, in text; empty where nobody is.
  package let clientAddress: String

  package init(
    method: HTTPMethod, path: String, query: [(name: String, value: String)] = [],
    headers: [(name: String, value: String)] = [], body: [UInt8] = [], parameters: [String: String] = [:],
    clientAddress: String = ""
  ) {
    self.method = method
    self.path = path
    self.query = query
    self.headers = headers
    self.body = body
    self.parameters = parameters
    self.clientAddress = clientAddress
  }

  /// The first query parameter of that name.
  package func query(_ name: String) -> String? { query.first { $0.name == name }?.value }
  /// The first header of that name, in whatever case.
  package func header(_ name: String) -> String? {
    let name = name.lowercased()
    return headers.first { $0.name == name }?.value
  }
  /// The list that a header's lines are together, in the order given (RFC 9110, 5.3); nil where there is none.
  package func list(_ name: String) -> String? {
    let name = name.lowercased()
    let lines = headers.filter { $0.name == name }.map(\.value)
    return lines.isEmpty ? nil : lines.joined(separator: ",")
  }
}

/// A response. Every one carries `X-Content-Type-Options: nosniff`, and is stored nowhere unless it says otherwise by
/// `Cache-Control`; pages add their own content security policy.
package struct HTTPResponse: Sendable {
  package var status: Int
  package var headers: [(name: String, value: String)]
  package var body: [UInt8]
  /// Sent instead of the body.
  package var sharedBody: SharedBytes?

  package init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  package static func bytes(_ body: [UInt8], contentType: String, status: Int = 200) -> HTTPResponse {
    HTTPResponse(status: status, headers: [("Content-Type", contentType)], body: body)
  }

  package static func text(
    _ text: String, contentType: String = "text/plain; charset=utf-8", status: Int = 200
  ) -> HTTPResponse {
    bytes(Array(text.utf8), contentType: contentType, status: status)
  }

  /// A page, with a policy that lets nothing from elsewhere in and no script run, unless another one is given.
  package static func html(
    _ page: HTML, contentSecurityPolicy: String = HTTPResponse.strictPolicy, status: Int = 200
  ) -> HTTPResponse {
    var response = text("<!DOCTYPE html>\n" + page.markup, contentType: "text/html; charset=utf-8", status: status)
    response.headers.append(("Content-Security-Policy", contentSecurityPolicy))
    return response
  }

  package static let strictPolicy =
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

  package static func json(_ value: JSONValue, status: Int = 200) -> HTTPResponse {
    text(value.prettyText + "\n", contentType: "application/json", status: status)
  }

  /// An error as RFC 9457 has it, with a number and a word that never change meaning.
  ///
  /// - Parameters:
  ///   - number: the contract's, below 400; nil where HTTP's own status says all.
  ///   - reason: the number's word; nil as `number`.
  package static func problem(
    _ status: Int, _ detail: String, number: Int? = nil, reason: String? = nil
  ) -> HTTPResponse {
    let title = HTTPStatus.title(status)
    let problem = JSONValue.object([
      .init("detail", .text(detail)), .init("number", .integer(number ?? status)),
      .init("reason", .text(reason ?? HTTPStatus.word(title))), .init("status", .integer(status)),
      .init("title", .text(title)),
    ])
    return text(problem.prettyText + "\n", contentType: "application/problem+json", status: status)
  }
}

/// Thrown by a handler to answer with ``HTTPResponse/problem(_:_:)``; `detail` is shown to whoever asked.
package struct HTTPProblem: Error, Sendable {
  package let status: Int
  package let detail: String

  package init(_ status: Int, _ detail: String) {
    self.status = status
    self.detail = detail
  }
}

enum HTTPStatus {
  static func title(_ status: Int) -> String {
    switch status {
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 409: "Conflict"
    case 413: "Content Too Large"
    case 415: "Unsupported Media Type"
    case 421: "Misdirected Request"
    case 422: "Unprocessable Content"
    case 429: "Too Many Requests"
    case 500: "Internal Server Error"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    default: "Error"
    }
  }

  /// A title as names are written here, such as `notFound`.
  static func word(_ title: String) -> String {
    title.prefix(1).lowercased() + title.dropFirst().filter { $0 != " " }
  }
}
