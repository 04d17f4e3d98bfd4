/// What a service's tables showed at one beat: who takes part, and who has which partition.
package struct LeaseView: Hashable, Sendable {
  /// Another process of the service.
  package struct Member: Hashable, Sendable {
    package var number: Int32
    /// Raised by it each time that it reads the tables.
    package var beat: Int64
    /// Its session with the database has ended.
    package var isGone: Bool

    package init(number: Int32, beat: Int64, isGone: Bool) {
      self.number = number
      self.beat = beat
      self.isGone = isGone
    }
  }

  /// A partition's row.
  package struct Partition: Hashable, Sendable {
    package var epoch: Int64
    /// The member that took it last; nil once it was given up.
    package var owner: Int32?

    package init(epoch: Int64, owner: Int32?) {
      self.epoch = epoch
      self.owner = owner
    }
  }

  /// The number of the member that reads.
  package var own: Int32
  package var others: [Member]
  /// Those that were ever owned.
  package var partitions: [Int32: Partition]
  /// How many partitions all inputs have.
  package var partitionCount: Int32

  package init(own: Int32, others: [Member], partitions: [Int32: Partition], partitionCount: Int32) {
    self.own = own
    self.others = others
    self.partitions = partitions
    self.partitionCount = partitionCount
  }
}

/// What an instance does with a partition that it has.
package enum LeasePhase: Hashable, Sendable {
  /// It takes it over, or opens it again after a failure.
  case opening
  /// It works on it.
  case open
  /// It finishes what it began, to give it up.
  case closing
}

/// What follows from a beat.
package struct LeaseDecision: Hashable, Sendable {
  /// Members that are no more: their rows are removed, and the next beat follows at once. Nothing else is done before.
  package var expelled: [Int32] = []
  /// Free partitions that are this instance's to take.
  package var taken: [Int32: PartitionClaim] = [:]
  /// Partitions to be given up in order.
  package var released: [Int32] = []
  /// Partitions that somebody else has taken: given up without a word.
  package var lost: [Int32] = []
  /// Partitions whose row says that this instance has them, and it has not: the rows are cleared.
  package var cleared: [Int32] = []
  /// It has its quota, and nothing is to be taken or given up.
  package var isBalanced = false
}

/// Which partitions an instance takes, keeps and gives up, decided from what it sees each half second or so in the
/// service's tables. Every instance decides for itself by the same rules; a claim that comes second is refused by the
/// tables (``PartitionClaim``), so nothing depends on two instances seeing the same.
///
/// A member is gone when its session has ended, as after a kill, or when its beat stood still for
/// ``silenceMilliseconds`` of this instance's own clock: a process that stands still, or one behind a network that does.
/// A time in which this instance itself had no beat counts little: whatever held it up may have held up the others.
package struct LeaseRules: Sendable {
  /// How long a member may be silent.
  package static let silenceMilliseconds: Int64 = 5_000
  /// The most that passes between two beats, as far as others' silence is measured.
  static let gapMillisecondsMaximum: Int64 = 1_000
  /// How long an instance that lost its session and has a new one leaves the others' partitions alone: a database that
  /// was started again lost all sessions, and they come back one by one.
  package static let returnMilliseconds: Int64 = 2_000

  private struct Silence: Hashable {
    var beat: Int64
    var milliseconds: Int64 = 0
  }

  private var silences: [Int32: Silence] = [:]
  private var lastRound: Int64?
  private var modestUntil = Int64.min

  package init() {}

  /// The session with the database was lost, and there is another.
  package mutating func hasReturned(now: Int64) { modestUntil = now + Self.returnMilliseconds }

  /// - Parameters:
  ///   - held: what this instance does with the partitions that it has, and had when it began to read; as
  ///     ``LeasePhase/open`` counts what was so at both times.
  ///   - now: of this machine's monotonic clock, in ms.
  package mutating func decide(_ view: LeaseView, held: [Int32: LeasePhase], now: Int64) -> LeaseDecision {
    listen(to: view.others, now: now)
    var decision = LeaseDecision()
    let isModest = now < modestUntil
    if !isModest {
      decision.expelled = view.others.filter(isOver).map(\.number)
      if !decision.expelled.isEmpty { return decision }
    }
    let owned = view.partitions.filter { $0.value.owner == view.own }
    decision.lost = held.filter { $0.value == .open && owned[$0.key] == nil }.keys.sorted()
    decision.cleared = owned.keys.filter { held[$0] == nil }.sorted()

    let kept = held.filter { $0.value != .closing }.keys.filter { !decision.lost.contains($0) }.sorted()
    let owners = (0..<view.partitionCount).map { view.partitions[$0]?.owner }
    let quotas = FairQuotas(members: Set(view.others.map(\.number)).union([view.own]), owners: owners)
    let quota = quotas.quotas[view.own] ?? 0
    let shrunk = kept.filter { $0 >= view.partitionCount }
    decision.released = shrunk + kept.dropLast(shrunk.count).dropFirst(quota)
    if !isModest, kept.count < quota {
      let free = (quotas.gifts[view.own] ?? []).filter { held[$0] == nil }
      for partition in free.prefix(quota - kept.count) {
        decision.taken[partition] = PartitionClaim(
          owner: view.own, seenEpoch: view.partitions[partition]?.epoch ?? 0)
      }
    }
    decision.isBalanced = held.count == quota && kept.count == quota && decision.lost.isEmpty
    return decision
  }

  private mutating func listen(to others: [LeaseView.Member], now: Int64) {
    let gap = lastRound.map { min(max(0, now - $0), Self.gapMillisecondsMaximum) } ?? 0
    lastRound = now
    var heard: [Int32: Silence] = [:]
    for member in others {
      if var silence = silences[member.number], silence.beat == member.beat {
        silence.milliseconds += gap
        heard[member.number] = silence
      } else {
        heard[member.number] = Silence(beat: member.beat)
      }
    }
    silences = heard
  }

  private func isOver(_ member: LeaseView.Member) -> Bool {
    member.isGone || (silences[member.number]?.milliseconds ?? 0) >= Self.silenceMilliseconds
  }
}
