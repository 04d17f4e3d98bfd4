internal import CLibmicrohttpd
internal import Synchronization

/// The one answer to a request that is answered later. Whoever lets go of it without an answer has answered 500.
package final class HTTPReply: Sendable {
  private let pending: PendingReply

  init(_ pending: PendingReply) { self.pending = pending }

  deinit { pending.answer(.problem(500, "this is our fault: nobody answered")) }

  /// Answers, from any thread, and never blocks for long; a second answer is dropped. Whether anybody is still there to
  /// read it is not known.
  package func answer(_ response: HTTPResponse) { pending.answer(response) }

  /// The same with an answer that the connection's own thread makes when it writes it, and that is nowhere before; if nobody
  /// is there to read it, `make` may not be called.
  package func answer(making make: @escaping @Sendable () -> HTTPResponse) { pending.answer(making: make) }
}

/// Where an answer is put for a connection, which is suspended until it is there.
///
/// Transitions: `open` becomes `suspended` when the handler has returned without an answer, and `answered` when there is
/// one; `suspended` becomes `answered`, which resumes the connection; `answered` becomes `taken` once.
final class PendingReply: Sendable {
  /// The library's handle of a connection. `@unchecked` holds because it may be resumed from any thread, and lives at
  /// least as long as it is suspended.
  @safe private struct Connection: @unchecked Sendable {
    let pointer: OpaquePointer
  }

  private enum State {
    case open
    case suspended(Connection)
    case answered(@Sendable () -> HTTPResponse)
    case taken
  }

  private let state = Mutex(State.open)
  private let bounded: @Sendable (HTTPResponse) -> HTTPResponse

  /// - Parameter bounded: what is sent in the answer's place where there is no memory for it; called for the answer
  ///   that counts, as soon as it is made.
  init(bounded: @escaping @Sendable (HTTPResponse) -> HTTPResponse) { self.bounded = bounded }

  /// The first answer counts.
  func answer(_ response: HTTPResponse) {
    settle {
      let made = bounded(response)
      return { made }
    }
  }

  /// The first answer counts; `make` is called by whoever takes it.
  func answer(making make: @escaping @Sendable () -> HTTPResponse) {
    settle { [bounded] in { bounded(make()) } }
  }

  private func settle(_ answer: () -> @Sendable () -> HTTPResponse) {
    state.withLock { state in
      switch state {
      case .open: state = .answered(answer())
      case .suspended(let connection):
        state = .answered(answer())
        unsafe MHD_resume_connection(connection.pointer)
      case .answered, .taken: break
      }
    }
  }

  /// The answer, where it is there already; else the connection is suspended until it is. To be called from within the
  /// library's call for that connection.
  func takeOrSuspend(_ connection: OpaquePointer) -> HTTPResponse? {
    let answer = state.withLock { state -> (@Sendable () -> HTTPResponse)? in
      if case .answered(let answer) = state {
        state = .taken
        return answer
      }
      unsafe MHD_suspend_connection(connection)
      state = unsafe .suspended(Connection(pointer: connection))
      return nil
    }
    return answer?()
  }

  /// The answer, once; nil before there is one.
  func take() -> HTTPResponse? {
    let answer = state.withLock { state -> (@Sendable () -> HTTPResponse)? in
      guard case .answered(let answer) = state else { return nil }
      state = .taken
      return answer
    }
    return answer?()
  }
}
