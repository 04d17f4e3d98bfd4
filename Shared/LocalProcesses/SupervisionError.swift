/// Why a supervised program could not be started, reached or stopped; the text says what a person can do about it.
package enum SupervisionError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What is needed is not installed, or may not be used by this user; `hint` says what to do.
  case unavailable(what: String, hint: String)
  /// The system refused a call: `operation` names it and its object, `code` is the `errno`.
  case system(operation: String, code: Int32)
  /// A program ended, or did not get ready in time; `output` is the last it said.
  case failed(program: String, reason: String, output: String)

  package var description: String {
    switch self {
    case .unavailable(let what, let hint): "\(what) is not available: \(hint)"
    case .system(let operation, let code): "\(operation): \(describe(code))"
    case .failed(let program, let reason, let output):
      output.isEmpty ? "\(program) \(reason)" : "\(program) \(reason); its last words:\n\(output)"
    }
  }
}
