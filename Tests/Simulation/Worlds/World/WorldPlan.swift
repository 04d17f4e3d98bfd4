import AdCore
import AdSelectionCore
import BillingCore
import ClickTrackingCore
import Pipeline

/// How large a world is and how badly things go in it; made from the seed.
struct WorldPlan {
  /// At the beginning.
  var partitions: Int32
  /// As many as the topics get, one topic after the other; nil where they stay.
  var grownPartitions: Int32?
  var steps: Int
  /// Requests and events that devices send.
  var clientMessages: Int
  /// In thousandths of all port calls.
  var callFaultPermille: Int
  var holePermille: Int
  var clockSkews: [Int64]
  var brokerSkew: Int64
  var timestampRegression: Int64
  /// In thousandths of all steps.
  var worldFaultPermille: Int
  var idsMaximum: Int
  /// Ads on which clicks wait that a partition remembers: in some worlds so few that the tables are asked for the others.
  var servesMaximum: Int { idsMaximum == 64 ? 2 : ClickMemory.servesMaximum }
  /// Counts of apps' hours that billing remembers of a partition: in some worlds so few that the tables are asked for
  /// the others.
  var appHoursMaximum: Int { idsMaximum == 64 ? 2 : BillingMemory.appHoursMaximum }
  /// The end comes only after the last click that waits could have been decided, and the last allotment has ended.
  var waitsForEnds: Bool
  /// Few, so that batches wait and partitions are paused.
  var batchRecordsMaximum: Int
  /// What all batches of an instance may take: in some worlds so little that its partitions wait for each other.
  var heldBytesMaximum: Int { batchRecordsMaximum == 1 ? 4_096 : 32 << 20 }
  /// How long watermarks alone may wait for something else.
  var quietMillisecondsMaximum: Int64
  /// With so many undelivered entries a partition's outbox is full.
  var outboxEntriesMaximum: Int
  /// What outboxes may take in memory: in some worlds so little that most of theirs waits in the database.
  var outboxBytesMaximum: Int { outboxEntriesMaximum == 3 ? 1_000 : PipelineMemory.outboxBytesMaximum }
  /// With so many keys of counts in a flush and as many collected a partition gets nothing more.
  var countKeysMaximum: Int
  /// In some worlds so low that a few events of an app are beyond them.
  var caps = TrafficCaps()
  /// In some worlds so few that an app asks more often.
  var appRequestsPerHour = SelectionSettings().appRequestsPerHour
  /// The database goes back to a backup once in a while.
  var hasRestores: Bool
  /// Its backup is one of the beginning, and restored near the end, more than an hour later.
  var keepsFirstBackup: Bool
  /// The trackers and billing are run again over what was recorded (I4).
  var isReplayed: Bool

  init(using random: inout SeededRandom) {
    partitions = Int32(random.number(1...3))
    if random.chance(120) { grownPartitions = partitions * 2 }
    if random.chance(10) { (partitions, grownPartitions) = (4, 8) }
    steps = random.number(60...140)
    clientMessages = random.number(10...40)
    callFaultPermille = random.pick([0, 2, 6, 20])
    holePermille = random.pick([0, 0, 100, 300])
    // Any two of our clocks, the broker's included, lie at most 5 s apart.
    let isSkewed = random.chance(500)
    clockSkews = isSkewed ? (0..<8).map { _ in random.milliseconds(-2_500...2_500) } : [0]
    brokerSkew = isSkewed ? random.milliseconds(-2_500...2_500) : 0
    timestampRegression = isSkewed && random.chance(400) ? 2_500 - abs(brokerSkew) : 0
    worldFaultPermille = random.pick([0, 80, 150, 250])
    idsMaximum = random.chance(300) ? 64 : 1_024
    waitsForEnds = random.chance(500)
    isReplayed = random.chance(250)
    hasRestores = random.chance(250)
    // Not drawn, so that the other worlds stay what they were.
    keepsFirstBackup = hasRestores && steps.isMultiple(of: 5)
    quietMillisecondsMaximum = steps.isMultiple(of: 3) ? 0 : 32_000
    batchRecordsMaximum = random.pick([1, 6])
    outboxEntriesMaximum = random.pick([PipelineMemory.outboxEntriesMaximum, 1, 3])
    countKeysMaximum = random.pick([PipelineMemory.countKeysMaximum, 1, 3])
    if random.chance(200) { appRequestsPerHour = Int64(random.number(1...8)) }
    guard random.chance(300) else { return }
    caps.impressionsPerHour = Int64(random.number(1...6))
    caps.clicksOfAdPerHour = Int64(random.number(1...4))
    caps.clicksBeforeRate = Int64(random.number(0...3))
    caps.clickRateBasisPoints = Int64(random.pick([0, 5_000, 10_000]))
    caps.unfundedPerDay = Nanos(Int64(random.pick([0, 10, 1_000])))
  }
}
