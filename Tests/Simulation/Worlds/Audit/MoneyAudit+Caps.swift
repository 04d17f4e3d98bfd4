import AdCore
import BillingCore

/// B8: of an app's hour only so much is billed before a person has looked at it; B4: the network bears only so much of a day
/// of what no budget pays. Each partition takes its part of both.
extension MoneyAudit {
  struct Held: Equatable {
    var key: BillingTables.EventKey
    var reason: Int16
  }

  private func part(_ cap: Int64, _ state: State) -> Int128 {
    (Int128(cap) + state.partitionCount - 1) / state.partitionCount
  }

  private func hour(_ event: Event, _ partition: Int32) -> String {
    "\(partition)/\(event.terms.app)/\(event.terms.serveID.timestamp.milliseconds / 3_600_000)"
  }

  /// The number of the cap that an event is beyond, after all that came before it; or that its ad was served by a decision
  /// which is lost, as is known since a person has accepted that.
  func holdReason(_ event: Event, _ partition: Int32, _ batch: Int64, _ state: State) -> Int16? {
    let isLost = world.timelines.lostServes(partition).contains {
      $0.ids.contains(event.terms.serveID) && batch > $0.billingBatch
    }
    if isLost {
      world.coverage.note(.heldAsLost)
      return 4
    }
    let caps = world.plan.caps
    let hour = hour(event, partition)
    let views = state.hours[hour + "/views", default: 0]
    if event.kind == .impression { return views >= part(caps.impressionsPerHour, state) ? 1 : nil }
    if state.hours[hour + "/\(event.terms.ad)", default: 0] >= part(caps.clicksOfAdPerHour, state) { return 2 }
    // Clicks that came more than 15 s after the last impressions that are known say nothing of a rate.
    if event.arrival - state.impressionsUpTo > 15_000 {
      world.coverage.note(.clickAheadOfImpressions)
      return nil
    }
    let clicks = state.hours[hour + "/clicks", default: 0]
    let isLikely =
      clicks < part(caps.clicksBeforeRate, state) || clicks < views * Int128(caps.clickRateBasisPoints) / 10_000
    return isLikely ? nil : 3
  }

  func count(_ event: Event, _ partition: Int32, _ state: inout State) {
    let hour = hour(event, partition)
    if event.kind == .impression {
      state.hours[hour + "/views", default: 0] += 1
    } else {
      state.hours[hour + "/clicks", default: 0] += 1
      state.hours[hour + "/\(event.terms.ad)", default: 0] += 1
    }
  }

  /// Whether the network pays the developer's part of what no budget could.
  func bears(_ event: Event, _ partition: Int32, _ state: inout State) -> Bool {
    let share = (event.price * Int128(event.terms.shareBasisPoints) * 2 + 10_000) / 20_000
    let terms = event.terms
    let day = "\(partition)/\(terms.app)/\(terms.currency)/\(terms.serveID.timestamp.milliseconds / 86_400_000)"
    guard state.borne[day, default: 0] + share <= part(world.plan.caps.unfundedPerDay.value, state) else {
      world.coverage.note(.unpaidBeyondCap)
      return false
    }
    state.borne[day, default: 0] += share
    return true
  }

  func compareHeld(_ state: State) {
    let stored = world.billing.tables.held.mapValues { rows in
      rows.map { Held(key: BillingTables.EventKey($0.held.event), reason: $0.held.reason.number) }
    }
    for partition in Set(stored.keys).union(state.held.keys) {
      let (found, due) = (stored[partition] ?? [], state.held[partition] ?? [])
      if found != due { world.fail("billing[\(partition)]: \(found.count) are held, \(due.count) were due, or others") }
    }
  }
}
