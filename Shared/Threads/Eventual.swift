/// Something that is made on a thread of its own while others go on.
///
/// `@unchecked Sendable` holds because the outcome is written by the thread alone, and read when it has ended.
package final class Eventual<Value>: @unchecked Sendable {
  private var outcome: Result<Value, any Error>?
  private var thread: OwnerThread?

  /// Begins at once.
  package init(_ name: String, _ make: @escaping @Sendable () throws -> Value) {
    thread = OwnerThread(name) { [self] in outcome = Result { try make() } }
  }

  /// Waits, blocking, until it is made.
  ///
  /// - Throws: what came in the way.
  package func value() throws -> Value {
    thread?.join()
    guard let outcome else { throw StopRequest.Stopped() }
    return try outcome.get()
  }
}
