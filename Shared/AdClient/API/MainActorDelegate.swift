/// A delegate of the main actor, held by an object that belongs to whatever actor it was made on.
///
/// `@unchecked Sendable` holds because only code on the main actor gets at the delegate: it is set there alone, and an
/// object is not `Sendable`, so one that has a delegate is the main actor's own.
struct MainActorDelegate<Object: AnyObject, Delegate>: @unchecked Sendable {
  private weak var delegate: AnyObject?
  private let cast: @MainActor (AnyObject) -> Delegate?

  /// - Parameter cast: Gives the delegate its type back.
  init(_ delegate: AnyObject?, cast: @escaping @MainActor (AnyObject) -> Delegate?) {
    self.delegate = delegate
    self.cast = cast
  }

  /// The delegate, on its actor.
  @MainActor var value: Delegate? { delegate.flatMap(cast) }

  /// Calls the delegate with the object, on the main actor, where the caller already is; nil without a delegate.
  func call<Result: Sendable>(_ object: Object, _ body: @MainActor (Delegate, Object) -> Result) -> Result? {
    guard delegate != nil else { return nil }
    let carried = Carried(object: object)
    return MainActor.assumeIsolated {
      guard let delegate = value else { return nil }
      return body(delegate, carried.object)
    }
  }

  /// `@unchecked Sendable` holds because it does not leave the actor: the call is synchronous.
  private struct Carried: @unchecked Sendable {
    let object: Object
  }
}
