internal import Foundation
internal import Runtime
internal import Threads

extension StopRequest {
  /// SIGTERM and Ctrl-C make the request; a second one ends the process at once, and the kernel ends the children.
  func listen() -> ShutdownSignals {
    ShutdownSignals(onFirst: { [self] _ in make() }, onSecond: { _ in _exit(ExitCode.failure.rawValue) })
  }
}
