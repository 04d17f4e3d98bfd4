internal import Glibc

/// How a process ended.
package enum ExitStatus: Sendable, Equatable, CustomStringConvertible {
  /// It ended by itself with this code, 0 to 255.
  case exited(Int32)
  /// A signal ended it.
  case signalled(Int32)

  /// Whether it ended by itself with code 0.
  package var isSuccess: Bool { self == .exited(0) }

  package var description: String {
    switch self {
    case .exited(let code): "ended with code \(code)"
    case .signalled(let signal): "was ended by signal \(signal)"
    }
  }

  /// The meaning of a status word of `waitpid`.
  init(statusWord: Int32) {
    let signal = statusWord & 0x7f
    self = signal == 0 ? .exited((statusWord >> 8) & 0xff) : .signalled(signal)
  }
}

/// The system's words for an error number.
func describe(_ errorNumber: Int32) -> String {
  unsafe strerror(errorNumber).map { unsafe String(cString: $0) } ?? "error \(errorNumber)"
}
