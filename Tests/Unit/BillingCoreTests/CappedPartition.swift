import AdCore
import AdEvents
import BillingCore
import Pipeline

/// A partition of billing whose owner has his table of apps' hours, and is asked nothing else.
struct CappedPartition {
  private let settings: BillingSettings
  private let allotment: OpenAllotment
  private let memory: BillingMemory
  private var decider: BillingDecider
  /// What the table holds.
  private(set) var hours: [AppHour: AppHourCount]
  /// How many counts were asked for, batch by batch.
  private(set) var asked: [Int] = []

  /// - Parameter now: the owner's clock when he takes the partition over.
  init(
    settings: BillingSettings, allotment: OpenAllotment, hours: [AppHour: AppHourCount] = [:],
    memory: BillingMemory = BillingMemory(), now: Timestamp = Samples.now
  ) {
    self.settings = settings
    self.allotment = allotment
    self.memory = memory
    self.hours = hours
    decider = Self.decider(settings, allotment, hours, memory, now)
  }

  private static func decider(
    _ settings: BillingSettings, _ allotment: OpenAllotment, _ hours: [AppHour: AppHourCount], _ memory: BillingMemory,
    _ now: Timestamp
  ) -> BillingDecider {
    let rows = hours.filter { $0.key.hour >= StoredAppHours.firstHour(now: now) }.sorted { $0.key.hour > $1.key.hour }
    return BillingDecider(
      settings: settings, open: [allotment], waiting: [],
      hours: StoredAppHours(
        rows.prefix(StoredAppHours.readMaximum + 1).map { ($0.key, $0.value) }, now: now), memory: memory)
  }

  /// The next owner takes it over. What was charged of the allotment he does not read.
  mutating func takeOver(now: Timestamp = Samples.now) {
    decider = Self.decider(settings, allotment, hours, memory, now)
  }

  mutating func decide(
    _ events: [BillingInput],
    watermarks: (impressions: Timestamp, clicks: Timestamp) = (Samples.now, Timestamp(milliseconds: 0)),
    now: Timestamp = Samples.now
  ) -> BatchDecision<BillingEffects> {
    let context = BatchContext.sample(watermarks: watermarks, now: now)
    let records = events.enumerated().map { $0.element.record($0.offset + 1) }
    let query = decider.query(for: records, context: context)
    asked.append(query?.appHours.count ?? 0)
    let knowledge = query.map { query in
      var knowledge = BillingKnowledge()
      knowledge.appHours = hours.filter { query.appHours.contains($0.key) }
      return knowledge
    }
    let decision = decider.decide(records, knowing: knowledge, context: context)
    for (key, count) in decision.effects.appHours {
      hours[key, default: AppHourCount()].impressions += count.impressions
      hours[key, default: AppHourCount()].clicks += count.clicks
    }
    return decision
  }
}
