internal import Foundation

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// HTTP to the edge: one request, one outcome.
struct EdgeConnection: Sendable {
  /// What came of a request.
  enum Outcome: Sendable {
    /// The edge answered.
    case answer(status: Int, body: [UInt8], retryAfterMilliseconds: Int64?)
    /// Nobody did: why, and whether the request may have got there all the same.
    case unreachable(String, mayHaveArrived: Bool)
  }

  /// A request under way, which can be broken off.
  struct Exchange: Sendable {
    fileprivate let task: URLSessionDataTask

    func cancel() { task.cancel() }
  }

  private let base: URL
  private let session: URLSession

  /// The most bytes of an answer that are read.
  private static let answerBytesMaximum = 1_048_576
  /// The longest pause that an answer may ask for, in seconds.
  private static let retryAfterSecondsMaximum: Int64 = 3_600
  /// Connections at the same time: a device needs two or three, a process of many clients all of them.
  private static let connectionsMaximum = 32

  /// Nil unless the address is one of `http` or `https`, with a host.
  init?(_ address: String) {
    guard let url = URL(string: address), ["http", "https"].contains(url.scheme?.lowercased()), url.host != nil else {
      return nil
    }
    base = url
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpCookieStorage = nil
    configuration.urlCache = nil
    configuration.httpMaximumConnectionsPerHost = Self.connectionsMaximum
    session = URLSession(configuration: configuration)
  }

  /// Posts protobuf. `completion` is called once, on a thread of the session.
  @discardableResult
  func post(
    _ path: String, _ body: [UInt8], timeoutMilliseconds: Int64, completion: @escaping @Sendable (Outcome) -> Void
  ) -> Exchange {
    var request = URLRequest(url: base.appendingPathComponent(path))
    request.httpMethod = "POST"
    request.timeoutInterval = TimeInterval(timeoutMilliseconds) / 1_000
    request.setValue("application/protobuf", forHTTPHeaderField: "Content-Type")
    request.httpBody = Data(body)
    let task = session.dataTask(with: request) { data, response, error in
      guard let response = response as? HTTPURLResponse else {
        let why = error.map { "\($0.localizedDescription)" } ?? "no answer"
        return completion(.unreachable(why, mayHaveArrived: Self.mayHaveArrived(error)))
      }
      let bytes = data.map { [UInt8]($0.prefix(Self.answerBytesMaximum)) } ?? []
      let seconds = response.value(forHTTPHeaderField: "Retry-After").flatMap { Int64($0) }
      let pause = seconds.map { min(max($0, 1), Self.retryAfterSecondsMaximum) * 1_000 }
      completion(.answer(status: response.statusCode, body: bytes, retryAfterMilliseconds: pause))
    }
    task.resume()
    return Exchange(task: task)
  }

  /// False only where no connection was made at all.
  private static func mayHaveArrived(_ error: (any Error)?) -> Bool {
    let never: [URLError.Code] = [.cannotConnectToHost, .cannotFindHost, .dnsLookupFailed, .notConnectedToInternet]
    return (error as? URLError).map { !never.contains($0.code) } ?? true
  }
}
