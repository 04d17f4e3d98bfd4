internal import Dispatch
internal import Foundation

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

private let timeLimits = DispatchQueue(label: "handbill-time-limits", attributes: .concurrent)

extension URLSessionTask {
  /// Breaks the task off when its time is over, however much still trickles in: a request's own timeout only says how long
  /// nothing at all may come.
  func cancel(afterMilliseconds milliseconds: Int64) {
    timeLimits.asyncAfter(deadline: .now() + .milliseconds(Int(milliseconds))) { [weak self] in self?.cancel() }
  }
}
