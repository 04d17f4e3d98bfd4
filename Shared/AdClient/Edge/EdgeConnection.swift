internal import Foundation
internal import Threads

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// HTTP to the edge: one request, one outcome.
struct EdgeConnection: Sendable {
  /// What came of a request.
  enum Outcome: Sendable {
    /// The edge answered.
    case answer(status: Int, body: [UInt8], retryAfterMilliseconds: Int64?)
    /// Nobody did: why.
    case unreachable(String)
  }

  private let base: URL
  private let session: URLSession

  /// The most bytes of an answer that are read.
  private static let answerBytesMaximum = 1_048_576
  /// The longest pause that an answer may ask for, in seconds.
  private static let retryAfterSecondsMaximum: Int64 = 3_600

  /// Nil unless the address is one of `http` or `https`, with a host.
  init?(_ address: String) {
    guard let url = URL(string: address), ["http", "https"].contains(url.scheme?.lowercased()), url.host != nil else {
      return nil
    }
    base = url
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpCookieStorage = nil
    configuration.urlCache = nil
    session = URLSession(configuration: configuration)
  }

  /// Posts protobuf. `completion` is called once, on a thread of the session.
  func post(
    _ path: String, _ body: [UInt8], timeoutMilliseconds: Int64, completion: @escaping @Sendable (Outcome) -> Void
  ) {
    var request = URLRequest(url: base.appendingPathComponent(path))
    request.httpMethod = "POST"
    request.timeoutInterval = TimeInterval(timeoutMilliseconds) / 1_000
    request.setValue("application/protobuf", forHTTPHeaderField: "Content-Type")
    request.httpBody = Data(body)
    let task = session.dataTask(with: request) { data, response, error in
      guard let response = response as? HTTPURLResponse else {
        return completion(.unreachable(error.map { "\($0.localizedDescription)" } ?? "no answer"))
      }
      let bytes = data.map { [UInt8]($0.prefix(Self.answerBytesMaximum)) } ?? []
      let seconds = response.value(forHTTPHeaderField: "Retry-After").flatMap { Int64($0) }
      let pause = seconds.map { min(max($0, 1), Self.retryAfterSecondsMaximum) * 1_000 }
      completion(.answer(status: response.statusCode, body: bytes, retryAfterMilliseconds: pause))
    }
    task.resume()
  }

  /// The same, blocking: for a thread of one's own.
  func post(_ path: String, _ body: [UInt8], timeoutMilliseconds: Int64) -> Outcome {
    let outcome = Monitor<Outcome?>(nil)
    post(path, body, timeoutMilliseconds: timeoutMilliseconds) { result in outcome.update { $0 = result } }
    // The session's own timeout comes first.
    return outcome.waitForResult(timeoutMilliseconds: Int(timeoutMilliseconds) + 5_000) { $0 }
      ?? .unreachable("no answer")
  }

  /// Breaks off what is under way. The session stays valid: a task of an invalid one would trap.
  func cancel() {
    session.getAllTasks { tasks in
      for task in tasks { task.cancel() }
    }
  }
}
