import BillingCore
import ClickTrackingCore
import ImpressionTrackingCore
import Pipeline

/// I4: the trackers and billing are run again, and their tables compared. Ad selection's decisions are facts.
struct ReplayAudit {
  let world: World

  func audit() {
    let impressions = Replay(
      world.fixture.impressionTracking, world.impressions,
      empty: ImpressionTables(
        windows: world.impressions.tables.windows, idsMaximum: world.plan.idsMaximum, keys: world.fixture.appKeys),
      in: world)
    impressions.run()
    let clicks = Replay(
      world.fixture.clickTracking, world.clicks,
      empty: ClickTables(windows: world.clicks.tables.windows, servesMaximum: world.plan.servesMaximum), in: world)
    clicks.run()
    let billing = Replay(
      world.fixture.billing, world.billing,
      empty: BillingTables(caps: world.plan.caps, sabotage: world.sabotage), in: world)
    // Partitions share budgets: the order is that of their locks.
    for step in world.billing.tables.steps {
      switch step {
      case .funded(let message, let now): billing.change { $0.fund(message, now: now) }
      case .batch(let partition, let number):
        billing.run(world.billing.row(partition).batches[Int(number) - 1], of: partition)
      }
      if !world.failures.isEmpty { return }
    }
    if impressions.tables.bySequence != world.impressions.tables.bySequence
      || impressions.tables.deliveries.keys != world.impressions.tables.deliveries.keys
    {
      world.fail("I4: impression tracking, run again, makes other rows")
    }
    let sequences = clicks.tables.bySequence.mapValues { $0.map(\.sequence) }
    if clicks.tables.clicks != world.clicks.tables.clicks
      || sequences != world.clicks.tables.bySequence.mapValues({ $0.map(\.sequence) })
      || clicks.tables.parked != world.clicks.tables.parked
    {
      world.fail("I4: click tracking, run again, makes other rows")
    }
    let again = billing.tables
    let first = world.billing.tables
    if again.budgets != first.budgets || again.charges != first.charges || again.held != first.held
      || Set(again.postings) != Set(first.postings) || again.postings.count != first.postings.count
    {
      world.fail("I4: billing, run again, makes another ledger")
    }
  }
}
