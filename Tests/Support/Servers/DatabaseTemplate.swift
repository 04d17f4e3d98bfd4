/// A database that tests get copies of, so that what many of them begin with is made once in a process.
package final class DatabaseTemplate: Sendable {
  let name: String
  let base: DatabaseTemplate?
  let prepare: @Sendable (String) throws -> Void

  /// - Parameters:
  ///   - name: tells it from every other in this process.
  ///   - base: what it is a copy of at first; nil for an empty database.
  ///   - prepare: fills it. It gets its URL and must close its connections before it returns; it runs on a thread of its
  ///     own and may block.
  package init(
    _ name: String, copyOf base: DatabaseTemplate? = nil, prepare: @escaping @Sendable (String) throws -> Void
  ) {
    self.name = name
    self.base = base
    self.prepare = prepare
  }
}
