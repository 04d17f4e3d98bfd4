import AdCore
import AdEvents
import AdSelectionCore
import BillingCore
import Pipeline
import Records

/// What ad selection must have made of what apps asked. Which ad won is a fact; that it was there to be sold, at its
/// price, from an allotment that had room, and that each request got one decision, is not.
struct SelectionAudit {
  let world: World

  private struct Asked: Hashable {
    var id: UUIDv7
    var client: UInt64
  }

  private struct Pair: Hashable {
    var client: UInt64
    var placement: PlacementID
  }

  private struct AppHour: Hashable {
    var app: AppID
    var hour: Int64
  }

  /// What one partition remembers of the last minute.
  private struct Memory {
    var decided: [Asked: Int64] = [:]
    var admitted: [Pair: Int64] = [:]
    var forwards = ForwardAudit()
    /// Live requests.
    var requests: [AppHour: Int64] = [:]
    /// How many without a key were kept in a second, of each app.
    var keptWithoutKey: (second: Int64, counts: [AppID: Int]) = (0, [:])

    /// Whether so many without a key were kept in this second that one more may not be. Who does not know the apps yet
    /// takes all for one.
    func isFull(_ app: AppID, isIncomplete: Bool) -> Bool {
      let kept = isIncomplete ? keptWithoutKey.counts.values.reduce(0, +) : keptWithoutKey.counts[app, default: 0]
      return kept >= 2
    }
  }

  private enum Due {
    /// - Parameter reason: why its row says it was decided so; nil for no row.
    case outcome(UInt8, reason: UInt8?)
    /// It came without a key, when enough of them were kept: counted, and no row.
    case counted(UInt8)
    /// A test ad, none, or an error that did not happen (A2).
    case test
    case auction
  }

  func audit() {
    for partition in 0..<world.partitionCount { audit(partition) }
    auditAllotments()
  }

  private func audit(_ partition: Int32) {
    let logID = LogID(topic: Topic.requests.name, partition: partition)
    let records = Auditor.Records(world.log[logID])
    let rows = Dictionary(grouping: world.selection.tables.decisions[partition] ?? [], by: \.batch)
    var memory = Memory()
    var beyondLimit: Int64 = 0
    for batch in world.selection.row(partition).batches {
      var left = (rows[batch.number] ?? [])[...]
      for (index, outcome) in Auditor.outcomes(of: batch, input: 0).enumerated() {
        let offset = batch.inputs[0].firstOffset + Int64(index)
        guard let record = records[batch.incarnations[0], offset],
          let number = record.event ?? Devices.event(of: record.message)
        else { continue }
        let event = world.devices.events[number]
        let due = expect(event, record, batch, outcome, next: left.first?.decided, memory: &memory)
        if case .counted = due { beyondLimit += 1 }
        let row = hasRow(due) ? left.popFirst() : nil
        // M6: a request counts in the minute in which it arrived.
        let arrival = max(record.timestamp, batch.watermarkBefore.milliseconds)
        if let row, row.decided.asked.arrival.milliseconds != arrival {
          world.fail("\(logID): offset \(offset) arrived at \(arrival), and its row says another time")
        }
        if let complaint = check(due, outcome: outcome, row: row?.decided, event: event, batch: batch) {
          world.fail("\(logID): offset \(offset) has outcome \(outcome): \(complaint); \(event.summary)")
        }
      }
      if !left.isEmpty { world.fail("\(logID): batch \(batch.number) has \(left.count) decisions nobody asked for") }
    }
    let decisions = rows.values.reduce(0) { $0 + $1.count }
    if beyondLimit > 0 { world.coverage.note(.requestBeyondLimit) }
    // A repeated mistake, while the catalogue is incomplete, has the same outcome with a key and without.
    if world.selection.tables.beyondLimit[partition] ?? 0 > beyondLimit {
      world.fail("\(logID): \(beyondLimit) requests without a key were not kept, more are counted")
    }
    let complaint = world.selection.tables.counts.complaint(rows: decisions, partition: partition) { $0 }
    if let complaint { world.fail("\(logID): \(complaint)") }
  }

  private func hasRow(_ due: Due) -> Bool {
    switch due {
    case .outcome(_, nil), .counted: false
    case .outcome, .test, .auction: true
    }
  }

  private func expect(
    _ event: DeviceEvent, _ record: LogRecord, _ batch: BatchRow, _ outcome: UInt8, next: DecidedRequest?,
    memory: inout Memory
  ) -> Due {
    if case .garbage(let reason) = event.form { return .outcome(reason, reason: nil) }
    guard case .request(let request) = event.content else { return .outcome(0, reason: nil) }
    // What the service itself sent on is decided where it lies, and so is what nobody can say the place of, and whatever
    // has no key.
    let isIncomplete = batch.freshness == .incomplete
    let isStranger = request.key == .unknown || isIncomplete && outcome != 3 && outcome != 87
    if let client = request.client, record.event != nil, !isStranger,
      KafkaPartition.of(key: client, count: batch.partitionCount) != record.message.partition
    {
      return .outcome(memory.forwards.due(request.id, kind: 0, found: outcome, in: world), reason: nil)
    }
    var rejection = request.mistake
    // The reply's partition must exist as far as the decider knew.
    if rejection == nil, request.reply != .sound || request.replyPartition >= batch.partitionCount {
      world.coverage.note(.replyRefused)
      rejection = 81
    }
    if rejection != nil { world.coverage.note(.requestMistaken) }
    // What would be refused is a row: without a key, and beyond what is kept, there is none.
    let second = batch.committedAt.milliseconds / 1_000
    let hasNoRow =
      (request.key == .unknown || isIncomplete) && outcome != 32 && memory.keptWithoutKey.second == second
      && memory.isFull(request.app, isIncomplete: isIncomplete)
    if request.placement == Samples.cursedPlacement, !hasNoRow { return .outcome(rejection ?? 32, reason: nil) }
    if let due = expectWithoutKey(request, batch, outcome, rejection, next: next, memory: &memory) { return due }
    return expectWithKey(request, record, batch, rejection, memory: &memory)
  }

  /// Without its app's key nothing else is looked at, and nothing is remembered. Nil for a request with it.
  private func expectWithoutKey(
    _ request: DeviceEvent.Request, _ batch: BatchRow, _ outcome: UInt8, _ rejection: UInt8?, next: DecidedRequest?,
    memory: inout Memory
  ) -> Due? {
    let isIncomplete = batch.freshness == .incomplete
    // Two without a key are kept in a second, and more where the partition was opened in between. Whoever has a key begins no
    // other second: where a clock is set back, the one before goes on.
    let second = batch.committedAt.milliseconds / 1_000
    let isKept = next?.asked.requestID == request.id
    let isBeyond =
      !isKept && memory.keptWithoutKey.second == second && memory.isFull(request.app, isIncomplete: isIncomplete)
    // A reader of the catalogue that has just begun may not have come to a key that there is.
    let isNotYetKnown =
      isIncomplete && (isKept ? next?.decision.reason == .keyNotYetKnown : isBeyond && outcome == rejection ?? 33)
    guard request.key == .unknown || isNotYetKnown else { return nil }
    world.coverage.note(.requestWithoutKey)
    let due = rejection ?? (isIncomplete ? 33 : 36)
    if isBeyond { return .counted(due) }
    if memory.keptWithoutKey.second != second { memory.keptWithoutKey = (second, [:]) }
    memory.keptWithoutKey.counts[request.app, default: 0] += 1
    return .outcome(due, reason: isIncomplete ? 42 : 16)
  }

  private func expectWithKey(
    _ request: DeviceEvent.Request, _ record: LogRecord, _ batch: BatchRow, _ rejection: UInt8?, memory: inout Memory
  ) -> Due {
    // D2: time is that of arrivals, by no clock ahead of the decider's.
    let now = batch.committedAt.milliseconds
    let arrival = max(record.timestamp, batch.watermarkBefore.milliseconds)
    let moment = min(arrival, now)
    let client = request.clientHash(arrival: record.timestamp)
    let asked = Asked(id: request.id, client: client)
    if let earlier = memory.decided[asked], moment - earlier < 60_000 { return .outcome(rejection ?? 2, reason: nil) }
    let hour = AppHour(app: request.app, hour: moment / 3_600_000)
    if request.key == .live { memory.requests[hour, default: 0] += 1 }
    if now > arrival + request.deadline { return .outcome(rejection ?? 48, reason: 5) }
    if batch.freshness == .incomplete { return .outcome(rejection ?? 33, reason: 38) }
    memory.decided[asked] = moment
    // B8: each partition takes its part of what an app may ask for in an hour.
    let count = Int64(max(1, batch.partitionCount))
    let most = (world.plan.appRequestsPerHour + count - 1) / count
    if request.key == .live, memory.requests[hour, default: 0] > most {
      world.coverage.note(.appBeyondCap)
      return .outcome(rejection ?? 34, reason: 44)
    }
    if let rejection { return .outcome(rejection, reason: 24) }
    let pair = Pair(client: client, placement: request.placement)
    if let last = memory.admitted[pair], moment - last < 29_000 { return .outcome(34, reason: 36) }
    memory.admitted[pair] = moment
    return request.key == .test ? .test : .auction
  }

  /// What is wrong; nil for nothing.
  private func check(
    _ due: Due, outcome: UInt8, row: DecidedRequest?, event: DeviceEvent, batch: BatchRow
  ) -> String? {
    if let row, let complaint = check(counting: row) { return complaint }
    switch due {
    case .outcome(let expected, let reason):
      note(expected)
      if outcome != expected { return "\(expected) was due" }
      guard let reason else { return nil }
      guard let row, row.outcome.rawValue == outcome else { return "its row says another" }
      if row.decision.reason.rawValue != reason { return "it was decided by \(row.decision.reason), \(reason) was due" }
      return reason == 24 ? check(sentenceOf: row) : nil
    case .counted(let expected): return outcome == expected ? nil : "\(expected) was due"
    case .test:
      world.coverage.note(.requestOfTestBuild)
      guard let row, row.outcome.rawValue == outcome else { return "its row says another" }
      guard let serve = row.serve else { return (32...42).contains(outcome) ? nil : "no test answer" }
      let terms = serve.terms
      let isFree = terms.impressionPrice == .zero && terms.clickPrice == .zero && terms.allotment == 0
      return terms.isTest && isFree && outcome == 1 ? nil : "a test ad costs something"
    case .auction:
      guard let row, row.outcome.rawValue == outcome, outcome == 1 || outcome == 35 else { return "no auction" }
      if row.decision.reason == .noAllotment { world.coverage.note(.noAllotment) }
      if batch.freshness == .withoutHeartbeat { world.coverage.note(.catalogWithoutHeartbeat) }
      return row.serve.flatMap { check($0, of: row, event: event, batch: batch) }
    }
  }

  /// M1, A1: who has its app's key counts for that app, everybody else by day and reason alone.
  private func check(counting row: DecidedRequest) -> String? {
    let isWithoutKey = [16, 17, 18, 42, 43].contains(row.decision.reason.rawValue)
    switch row.countKey {
    case .withoutAppKey(let day, let reason):
      let isRight =
        isWithoutKey && reason == row.decision.reason && Int64(day) == row.id.timestamp.milliseconds / 86_400_000
      return isRight ? nil : "it counts for no app"
    case .ofApp(let key):
      let minute = row.asked.arrival.milliseconds / 60_000
      if key.minute.milliseconds != minute * 60_000 { return "it counts in another minute" }
      return !isWithoutKey && key.app == row.asked.app ? nil : "it counts for an app"
    }
  }

  /// Whoever has made a mistake is told what to change.
  private func check(sentenceOf row: DecidedRequest) -> String? {
    guard case .error(.configurationError, let detail)? = row.decision.answer, !detail.isEmpty else {
      return "it is not answered with what to change"
    }
    return nil
  }

  private func check(_ serve: Serve, of row: DecidedRequest, event: DeviceEvent, batch: BatchRow) -> String? {
    let terms = serve.terms
    guard case .request(let request) = event.content else { return "nobody asked" }
    let app = world.catalogPlan.app(request.app)
    if !request.clientHashes.contains(terms.clientHash) || terms.app != request.app || terms.developer != app?.developer
      || terms.placement != request.placement || terms.isTest
      || terms.issuedAt != batch.committedAt || terms.serveID != row.id
      || terms.expiresAt.milliseconds != terms.issuedAt.milliseconds + Devices.tokenLife
      || terms.shareBasisPoints != app?.shareBasisPoints
    {
      return "its terms are not those of the request"
    }
    guard row.decision.reason == .served else { return terms.allotment == 0 ? nil : "a house ad costs something" }
    if batch.freshness != .complete { return "a paid ad without a catalogue" }
    if let complaint = batch.heard?.complaint(at: batch.committedAt) { return complaint }
    let wasOffered = world.catalog.campaigns.contains {
      $0.id == terms.campaign && !$0.isPaused && $0.clickPrice == terms.clickPrice
        && terms.impressionPrice == ($0.kind == .brand ? $0.impressionPrice : .zero)
        && terms.advertiser == $0.advertiser
        && terms.currency == world.catalogPlan.advertiser(of: $0)?.currency
    }
    if !wasOffered { return "nobody ever offered campaign \(terms.campaign) at this price" }
    guard let allotment = world.selection.tables.allotments[terms.allotment], let reservation = serve.reservation,
      allotment.partition == terms.partition, allotment.row.campaign == terms.campaign,
      allotment.row.budgetDay == terms.budgetDay, allotment.row.serveUntil > batch.committedAt
    else { return "it was sold from no allotment of its own" }
    let rates = allotment.row.clickRates
    let rate = Int128(rates.ads[terms.ad] ?? rates.others)
    let due = Int128(terms.impressionPrice.value) + (Int128(terms.clickPrice.value) * rate + 999_999) / 1_000_000
    return Int128(reservation.amount.value) == due ? nil : "it reserved \(reservation.amount), not \(due)"
  }

  /// Each allotment has used what was sold from it, and never more than it had; billing granted it so.
  private func auditAllotments() {
    var sold: [UInt64: Int128] = [:]
    for row in world.selection.tables.served.values {
      if let reservation = row.serve?.reservation {
        sold[reservation.allotment, default: 0] += Int128(reservation.amount.value)
      }
    }
    for (id, stored) in world.selection.tables.allotments {
      let row = stored.row
      if Int128(row.used.value) != sold[id, default: 0] || row.used.value > row.amount.value {
        world.fail("allotment \(id) of \(row.amount) has used \(row.used), \(sold[id, default: 0]) was sold")
      }
      guard let granted = world.billing.tables.budgets.allotments[id], granted.granted == row.amount.value,
        granted.budget.campaign == row.campaign, granted.budget.day == row.budgetDay
      else {
        world.fail("allotment \(id) was never granted so")
        continue
      }
      if world.plan.waitsForEnds, row.closedAt == nil { world.fail("allotment \(id) was never closed") }
    }
  }

  private func note(_ outcome: UInt8) {
    switch outcome {
    case 2: world.coverage.note(.requestRepeated)
    case 3: world.coverage.note(.requestForwarded)
    case 34: world.coverage.note(.requestThrottled)
    case 48: world.coverage.note(.requestPastDeadline)
    default: break
    }
  }
}
