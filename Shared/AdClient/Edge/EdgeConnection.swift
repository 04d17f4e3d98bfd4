internal import Foundation
internal import Synchronization

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// HTTP to the edge: one request, one outcome. No redirection is followed, for what an app asks and tells is for the edge alone.
final class EdgeConnection: Sendable {
  /// What came of a request.
  enum Outcome: Sendable {
    /// Somebody answered: the edge, or whoever stands in its place.
    case answer(EdgeAnswer)
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
  private let collector = AnswerCollector()

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
    session = URLSession(configuration: configuration, delegate: collector, delegateQueue: nil)
  }

  // A session keeps its delegate until it is told that nothing more comes.
  deinit { session.finishTasksAndInvalidate() }

  /// Posts protobuf. `completion` is called once, on a thread of the session.
  ///
  /// - Parameters:
  ///   - timeoutMilliseconds: How long nothing may come or go.
  ///   - timeLimitMilliseconds: How long all may take; as long where none is given.
  @discardableResult
  func post(
    _ path: String, _ body: [UInt8], timeoutMilliseconds: Int64, timeLimitMilliseconds: Int64? = nil,
    completion: @escaping @Sendable (Outcome) -> Void
  ) -> Exchange {
    var request = URLRequest(url: base.appendingPathComponent(path))
    request.httpMethod = "POST"
    request.timeoutInterval = TimeInterval(timeoutMilliseconds) / 1_000
    request.setValue("application/protobuf", forHTTPHeaderField: "Content-Type")
    request.httpBody = Data(body)
    let task = session.dataTask(with: request)
    collector.begin(task.taskIdentifier, completion)
    task.resume()
    task.cancel(afterMilliseconds: timeLimitMilliseconds ?? timeoutMilliseconds)
    return Exchange(task: task)
  }
}

/// Gathers the answers of a session, no more of each than an edge ever says.
private final class AnswerCollector: NSObject, URLSessionDataDelegate, Sendable {
  private struct Pending {
    let completion: @Sendable (EdgeConnection.Outcome) -> Void
    var response: HTTPURLResponse?
    var body: [UInt8] = []
    var isTooLong = false
  }

  /// The most bytes of an answer that are read.
  private static let answerBytesMaximum = 1_048_576

  private let pending = Mutex<[Int: Pending]>([:])

  func begin(_ task: Int, _ completion: @escaping @Sendable (EdgeConnection.Outcome) -> Void) {
    pending.withLock { $0[task] = Pending(completion: completion) }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
  ) {
    pending.withLock { $0[dataTask.taskIdentifier]?.response = response as? HTTPURLResponse }
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let task = dataTask.taskIdentifier
    let isTaken = pending.withLock { pending in
      guard pending[task]?.isTooLong == false, let count = pending[task]?.body.count else { return false }
      guard data.count <= Self.answerBytesMaximum - count else {
        pending[task]?.isTooLong = true
        pending[task]?.body = []
        return false
      }
      pending[task]?.body += data
      return true
    }
    if !isTaken { dataTask.cancel() }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    guard let ended = pending.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
    let response = ended.response ?? task.response as? HTTPURLResponse
    guard let response, error == nil || ended.isTooLong else {
      let why = error.map { "\($0.localizedDescription)" } ?? "no answer"
      // Where no connection was made, or none that is safe, not a byte of the request was sent.
      return ended.completion(.unreachable(why, mayHaveArrived: task.countOfBytesSent > 0))
    }
    ended.completion(
      .answer(
        EdgeAnswer(status: response.statusCode, body: ended.body) { response.value(forHTTPHeaderField: $0) }))
  }
}
