internal import Foundation
internal import Synchronization

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// One image on its way, of which no more is taken than it may have.
final class ImageDownload: NSObject, URLSessionDataDelegate, Sendable {
  struct Problem: Error, CustomStringConvertible {
    let description: String
  }

  /// How long nothing may come, in seconds.
  private static let timeoutSeconds: TimeInterval = 30
  /// How long all of it may take: longer than an ad waits for it, so that a slow phone has it when the ad comes again. An
  /// edge gives no answer more time.
  private static let timeLimitMilliseconds: Int64 = 600_000
  private static let tooLarge = "it is larger than it may be"
  private struct State {
    var bytes: [UInt8] = []
    var problem: String?
  }

  private let bytesMaximum: Int
  private let continuation: CheckedContinuation<Result<[UInt8], Problem>, Never>
  private let state = Mutex(State())

  private init(bytesMaximum: Int, _ continuation: CheckedContinuation<Result<[UInt8], Problem>, Never>) {
    self.bytesMaximum = bytesMaximum
    self.continuation = continuation
  }

  static func bytes(at url: URL, bytesMaximum: Int) async -> Result<[UInt8], Problem> {
    await withCheckedContinuation { continuation in
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpCookieStorage = nil
      configuration.urlCache = nil
      configuration.timeoutIntervalForRequest = timeoutSeconds
      let session = URLSession(
        configuration: configuration, delegate: ImageDownload(bytesMaximum: bytesMaximum, continuation),
        delegateQueue: nil)
      let task = session.dataTask(with: url)
      task.resume()
      task.cancel(afterMilliseconds: timeLimitMilliseconds)
      session.finishTasksAndInvalidate()
    }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
  ) {
    let status = (response as? HTTPURLResponse)?.statusCode ?? 0
    let problem =
      status != 200
      ? "status \(status)"
      : response.expectedContentLength > Int64(bytesMaximum) ? Self.tooLarge : nil
    state.withLock { $0.problem = problem }
    completionHandler(problem == nil ? .allow : .cancel)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let isTaken = state.withLock { state in
      guard state.problem == nil, data.count <= bytesMaximum - state.bytes.count else {
        state.problem = state.problem ?? Self.tooLarge
        return false
      }
      state.bytes += data
      return true
    }
    if !isTaken { dataTask.cancel() }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    // The last call, and the only one of its kind.
    let (bytes, problem) = state.withLock { ($0.bytes, $0.problem ?? error?.localizedDescription) }
    continuation.resume(returning: problem.map { .failure(Problem(description: $0)) } ?? .success(bytes))
  }
}
