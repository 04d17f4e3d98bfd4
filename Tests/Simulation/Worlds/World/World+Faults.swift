import AdCore
import AdEvents
import Pipeline

/// What goes wrong outside the calls of one instance.
extension World {
  func makeFault() {
    switch random.number(0...18) {
    case 0...2:
      let fleet = random.pick(fleets)
      coverage.note(.handover)
      let partition = Int32(random.number(0...Int(partitionCount) - 1))
      guard isAssignable(partition, in: fleet) else { return }
      if random.chance(500) { fleet.instances.append(fleet.start()) }
      assign(partition, in: fleet)
      if fleet.instances.count > 3 { kill(fleet.instances[0]) }
    case 3: randomInstance().context.writer.fail()
    case 4: kill(randomInstance())
    case 5:
      // The last record of a topic is taken for its writer's last word.
      if !ghosts.isEmpty, !plan.hasRestores {
        coverage.note(.lateRecordOfZombie)
        append(ghosts.remove(at: random.number(0...ghosts.count - 1)))
      }
    case 6: repeatRecords()
    case 7: retain()
    case 8: replaceLog()
    case 9: grow()
    case 10: consoleActs()
    case 11...12: stepClock()
    case 13: removeRows()
    case 14: takeBackup()
    case 15: restoreBackup()
    case 16: cutLog()
    default:
      // Nothing happens anywhere for a while.
      coverage.note(.longPause)
      time.advance(byMilliseconds: random.milliseconds(10_000...3_600_000))
    }
  }

  /// A clock is set, forwards or back: that of a process, or the broker's.
  private func stepClock() {
    guard plan.clockSkews.count > 1 else { return }
    let skew = random.pick(plan.clockSkews)
    // Where timestamps regress, they do so as far as any may.
    if plan.timestampRegression == 0, random.chance(250) {
      coverage.note(.brokerClockStep)
      log.skewMilliseconds = skew
      return
    }
    let forwards = randomInstance().context.clock.step(toSkew: skew)
    coverage.note(forwards < 0 ? .clockStepBack : .clockStepForward)
  }

  /// Retention removes rows of accepted events, once everybody has consumed them; whether the broker has said that it
  /// has them does not matter to it.
  private func removeRows() {
    let partition = Int32(random.number(0...Int(partitionCount) - 1))
    let taken = billing.row(partition).inputs.map(\.consumedSequence)
    let isUnreadToo = sabotage == .removeUnread
    if random.chance(500) {
      let end = isUnreadToo ? impressions.row(partition).outputs[0].nextSequence - 1 : 0
      let consumed = min(taken[0], clicks.row(partition).inputs[1].consumedSequence)
      impressions.tables.removeRows(partition, upTo: max(consumed, end))
    } else {
      let end = isUnreadToo ? clicks.row(partition).outputs[0].nextSequence - 1 : 0
      clicks.tables.removeRows(partition, upTo: max(taken[1], end))
    }
    coverage.note(.rowsRemoved)
  }

  private func kill(_ instance: any SimulatedInstance) {
    if random.chance(300), !instance.isAtWork {
      coverage.note(.stoppedInOrder)
      instance.stop()
    }
    instance.context.isDead = true
    restart(instance)
  }

  /// Another instance opens the partition between what a batch looked up and its commit.
  func rebalanceInMidBatch(_ service: String, _ partition: Int32, from context: InstanceContext) {
    guard isFaulty, random.chance(plan.callFaultPermille),
      let fleet = fleets.first(where: { $0.books.name == service }),
      let other = fleet.instances.first(where: { $0.context !== context && !$0.isAtWork })
    else { return }
    coverage.note(.rebalanceInMidBatch)
    for instance in fleet.instances { instance.take(partition) }
    other.give(partition)
    other.drop(partition)
    other.open(partition)
  }

  // MARK: The log

  private static let internalTopics = [Topic.acceptedImpressions, .acceptedClicks, .usage, .budgets]
  private static let clientTopics = [Topic.requests, .impressions, .clicks]

  private func logID(_ topics: [Topic]) -> LogID {
    let topic = random.pick(topics).name
    return LogID(topic: topic, partition: Int32(random.number(0...Int(log.partitionCount(topic)) - 1)))
  }

  /// What a producer sent comes into the log; of our own topics seldom as something that does not decode, or that has
  /// the MAC of what it was.
  ///
  /// - Parameter isOfLostCommits: its sender does not know yet that the database went back: nothing there tells of it.
  func deliver(_ message: OutgoingMessage, isOfLostCommits: Bool) {
    let logID = LogID(topic: message.topic, partition: message.partition)
    if isOfLostCommits {
      coverage.note(.toldOfLostCommits)
      let sequences = silently { audit(message, appendedTo: logID) }
      highestSequences[logID] = max(highestSequences[logID] ?? 0, sequences?.upperBound ?? 0)
    } else if let sequences = audit(message, appendedTo: logID) {
      auditOrder(sequences, in: logID)
    }
    var message = message
    if isFaulty, Self.internalTopics.contains(where: { $0.name == logID.topic }), random.chance(15) {
      coverage.note(.recordCorrupted)
      message.value = message.value.map { Array($0.prefix($0.count / 2)) }
      if random.chance(500) { message = message.authenticated(by: fixture.mac, now: Timestamp(milliseconds: log.now)) }
    }
    isAudited = true
    append(message)
    isAudited = false
  }

  /// Whoever publishes leaves no sequence out, whichever log stands there by now.
  private func auditOrder(_ sequences: ClosedRange<Int64>, in logID: LogID) {
    let highest = highestSequences[logID] ?? 0
    if sequences.lowerBound > timelines.next(highest, in: logID) {
      fail("\(logID): sequences \(sequences) came after \(highest)")
    }
    if (sequences.lowerBound..<sequences.upperBound).contains(highest) { coverage.note(.runCutOtherwise) }
    highestSequences[logID] = max(highest, sequences.upperBound)
  }

  /// The broker has an old record once more behind newer ones, or the whole topic.
  private func repeatRecords() {
    let logID = logID(Self.internalTopics)
    let records = log[logID].records
    guard !records.isEmpty, !plan.hasRestores else { return }
    coverage.note(.recordAppendedTwice)
    isAudited = true
    defer { isAudited = false }
    if random.chance(300), records.count < 20 {
      coverage.note(.topicReplayed)
      for record in records { append(record.message) }
    } else {
      append(random.pick(records).message)
    }
  }

  /// Retention removes records, read or not. What clients told is gone then, and is recorded as lost.
  private func retain() {
    let isOfClients = random.chance(250)
    let logID = logID(isOfClients ? Self.clientTopics : Self.internalTopics)
    let end = log[logID].endOffset
    guard end > 0 else { return }
    log.removeBefore(random.milliseconds(0...end), in: logID)
    for fleet in fleets {
      guard let input = fleet.books.inputTopics.firstIndex(of: logID.topic),
        fleet.books.partitions[logID.partition]?.inputs[input].nextOffset ?? 0 < log[logID].firstOffset
      else { continue }
      coverage.note(isOfClients ? .retentionPastClients : .retentionPastConsumer)
    }
  }

  /// A topic was deleted and made again.
  private func replaceLog() {
    let isOfClients = random.chance(250)
    let logID = logID(isOfClients ? Self.clientTopics : Self.internalTopics)
    guard log[logID].endOffset > 0, random.chance(300) else { return }
    if isOfClients { coverage.note(.clientTopicReplaced) }
    log.replace(logID)
    // It takes time: no record of the new log has the content and the time of one that stood at its offset.
    time.advance(byMilliseconds: plan.timestampRegression + 1)
  }

  /// A broker comes back without the end of a log that clients write.
  private func cutLog() {
    let logID = logID(Self.clientTopics)
    let count = log[logID].records.count
    // By the time of arrival people know what was read of it: that must not go back.
    guard count > 0, plan.timestampRegression == 0, random.chance(300) else { return }
    coverage.note(.logCut)
    log.cut(logID, keeping: random.number(0...count - 1))
    for instance in fleets.flatMap(\.instances) { instance.loseBroker() }
    time.advance(byMilliseconds: 1)
  }

  // MARK: Growth

  /// The network gets more partitions, one topic after the other.
  private func grow() {
    guard let count = plan.grownPartitions else { return }
    if topicsToGrow.isEmpty, partitionCount < count { topicsToGrow = Self.topics.shuffled(using: &random) }
    if !topicsToGrow.isEmpty { growNext() }
  }

  func growNext() {
    guard let count = plan.grownPartitions, let topic = topicsToGrow.popLast() else { return }
    coverage.note(.topicGrown)
    log.create(topic, partitions: count)
    for fleet in fleets where fleet.books.inputTopics.contains(topic) {
      for partition in plan.partitions..<count where isAssignable(partition, in: fleet) {
        assign(partition, in: fleet)
      }
    }
  }

  /// Nobody decides on part of a set: a partition number is owned only where every input has it.
  private func isAssignable(_ partition: Int32, in fleet: Fleet) -> Bool {
    fleet.books.inputTopics.allSatisfy { partition < log.partitionCount($0) }
  }

  // MARK: The console

  /// Somebody changes a budget, a price, or pauses a campaign; billing and ad selection hear of it when they do.
  func consoleActs() {
    switch random.number(0...10) {
    case 0:
      coverage.note(.budgetLowered)
      let campaign = random.pick(catalogPlan.campaigns)
      catalog.change(campaign.id) { $0.totalBudget = $0.totalBudget / 2 }
    case 1:
      let campaign = random.pick(catalogPlan.campaigns)
      catalog.change(campaign.id) { $0.totalBudget += campaign.totalBudget }
    case 2:
      coverage.note(.priceChanged)
      let campaign = random.pick(catalogPlan.campaigns)
      catalog.change(campaign.id) { $0.clickPrice = Nanos($0.clickPrice.value + 1) }
      if let standing = catalogPlan.standing {
        coverage.note(.standingChanged)
        catalog.change(standing)
      }
    case 3:
      catalog.change(random.pick(catalogPlan.advertisers).id) { $0.accountFunding = $0.accountFunding * 3 / 4 }
    case 4:
      let campaign = random.pick(catalogPlan.campaigns)
      catalog.change(campaign.id) { $0.isPaused.toggle() }
    case 5: break
    case 6:
      isBreakerOpen.toggle()
      if isBreakerOpen { coverage.note(.breakerOpened) }
      beat()
    default: beat()
    }
    fundBilling(limit: random.number(0...4))
  }
}
