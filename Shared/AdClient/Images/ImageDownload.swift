internal import Foundation

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// One image on its way, of which no more is taken than it may have.
final class ImageDownload: NSObject, URLSessionDataDelegate, @unchecked Sendable {
  struct Problem: Error, CustomStringConvertible {
    let description: String
  }

  private static let timeoutSeconds: TimeInterval = 30
  private let bytesMaximum: Int
  // The session calls its delegate from one queue, one call after the other: so nobody else has these meanwhile.
  private var bytes: [UInt8] = []
  private var problem: String?
  private var continuation: CheckedContinuation<Result<[UInt8], Problem>, Never>?

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
      session.dataTask(with: url).resume()
      session.finishTasksAndInvalidate()
    }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
  ) {
    let status = (response as? HTTPURLResponse)?.statusCode ?? 0
    if status != 200 { problem = "status \(status)" }
    if response.expectedContentLength > Int64(bytesMaximum) { problem = "it is larger than it may be" }
    completionHandler(problem == nil ? .allow : .cancel)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    guard problem == nil, data.count <= bytesMaximum - bytes.count else {
      problem = problem ?? "it is larger than it may be"
      return dataTask.cancel()
    }
    bytes += data
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let failed = problem ?? error?.localizedDescription
    continuation?.resume(returning: failed.map { .failure(Problem(description: $0)) } ?? .success(bytes))
    continuation = nil
  }
}
