internal import AdCore
internal import LocalProcesses
internal import Operations
internal import Postgres
internal import Runtime

/// `handbill seed`: fills the catalogue with a small network.
enum SeedCommand {
  static let command = Command(
    "seed", summary: "Fills the catalogue with a small, plausible network.",
    discussion: """
      Four developers with seven apps (one for users under 17, one not set up yet), five advertisers with brand,
      developer and house campaigns. Its app keys are known to everybody: for demos and tests only. What is
      there already stays as it is: applied again it changes nothing, and undoes nobody's changes.
      """,
    options: DatabaseAddress.options,
    examples: [CommandExample("handbill seed && handbill catalog list", "Fills the catalogue and shows it.")]
  ) { invocation in
    let seed = SeedNetwork(now: SystemClock().now)
    let applied = try await onOwnThread {
      try apply(seed, databaseURL: DatabaseAddress.address(invocation))
    }
    try CatalogOutput.show(applied, invocation)
    if !invocation.wantsJSON {
      for app in seed.apps { Terminal.print("app \(app.id): key \(SeedNetwork.key(app.id, .distribution))") }
    }
    return .success
  }

  /// Writes the network into the catalogue; what is or was there already stays untouched. Blocks.
  @discardableResult
  static func apply(_ seed: SeedNetwork, databaseURL: String) throws -> CatalogApplied {
    try CatalogCommand.withStore(databaseURL) { store in try store.add(CatalogFile(seed.records)).get() }
  }
}
