package import Runtime

extension Health {
  /// Whether it says that nothing keeps the service from its work.
  package var isReady: Bool {
    let conditions = readiness()
    return !conditions.isEmpty && conditions.allSatisfy { $0.problem == nil }
  }
}
