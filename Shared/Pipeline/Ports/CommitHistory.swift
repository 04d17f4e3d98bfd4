package import AdCore

/// Which history of commits the database has, as it stood when the partition was taken over.
package struct CommitHistory: Hashable, Sendable {
  /// All timelines that it knows, oldest first; the last is in force.
  package var timelines: [TimelineID]
  /// The one that the partition's row was left in; nil where nobody had the partition yet.
  package var ofPartition: TimelineID?
  /// Why the partition was stopped, and waits for a person.
  package var finding: String?
  /// Per input: sequences that belong to lost commits, rising.
  package var lostSequences: [[Range<Int64>]]
  /// Per input: where each timeline that has ended ended, as far as it is known. Of it only sequences before this are genuine.
  package var ends: [[TimelineID: Int64]]

  package init(
    timelines: [TimelineID], ofPartition: TimelineID? = nil, finding: String? = nil,
    lostSequences: [[Range<Int64>]] = [], ends: [[TimelineID: Int64]] = []
  ) {
    self.timelines = timelines
    self.ofPartition = ofPartition
    self.finding = finding
    self.lostSequences = lostSequences
    self.ends = ends
  }

  package var current: TimelineID? { timelines.last }

  /// What is wrong with the rows of the partition themselves; nil for nothing.
  var fault: String? {
    if let finding { return finding }
    guard let current else { return "the database has no timeline: 'handbill migrate up' makes one" }
    guard let ofPartition, ofPartition != current else { return nil }
    return
      "the partition's rows are of timeline \(ofPartition), the database is in \(current): a part of it was restored"
  }

  /// Why a topic's last word cannot have been written from this database; nil where it can.
  ///
  /// - Parameters:
  ///   - known: the last sequence that the writer's rows know.
  ///   - batch: the last batch that they know.
  func fault(of mark: TimelineMark, sequence known: Int64, batch: Int64) -> String? {
    guard timelines.contains(mark.timeline) else {
      return "it tells of timeline \(mark.timeline), which the database does not know"
    }
    guard mark.sequence <= known else { return "it tells of sequence \(mark.sequence), the database knows \(known)" }
    guard mark.timeline != current || mark.batch <= batch else {
      return "it tells of batch \(mark.batch), the database knows \(batch)"
    }
    return nil
  }

  /// Why what records told cannot come from this database, nor from one that it continues; nil where it can, as far as
  /// timelines say.
  func fault(of mark: InputMark) -> String? {
    let told = mark.told
    guard told.timeline != current else { return nil }
    let begin = lostSequences.indices.contains(mark.input) ? lostSequences[mark.input].last?.upperBound : nil
    // What lies before the timeline in force was accepted, also where it is of one that a backup of before does not know.
    if let begin, told.sequence < begin { return nil }
    guard timelines.contains(told.timeline) else {
      return "it tells of timeline \(told.timeline), which the database does not know"
    }
    guard begin != nil else { return nil }
    return "timeline \(told.timeline) has ended, and somebody still writes in it: another database is in use as well"
  }

  func standing(of mark: InputMark) -> TimelineStanding {
    TimelineStanding(isCurrent: mark.told.timeline == current, end: end(of: mark))
  }

  /// What somebody wrote in a timeline that had ended stays in the log, beside what the next one gave the same sequences.
  private func end(of mark: InputMark) -> Int64? {
    let timeline = mark.told.timeline
    guard timeline != current else { return nil }
    if ends.indices.contains(mark.input), let end = ends[mark.input][timeline] { return end }
    // Of one that nobody knows: what every database agrees on.
    guard !timelines.contains(timeline), lostSequences.indices.contains(mark.input) else { return nil }
    return lostSequences[mark.input].first?.lowerBound
  }
}

/// What the timeline that a record came with is to the one in force.
package struct TimelineStanding: Hashable, Sendable {
  var isCurrent: Bool
  /// From which sequence on nothing of it is consumed; nil where there is no such end.
  var end: Int64?
}

/// What is known of whoever writes an input: that is committed before it is told.
package struct WriterStanding: Hashable, Sendable {
  /// The last sequence given.
  package var sequence: Int64
  package var batch: Int64

  package init(sequence: Int64, batch: Int64) {
    self.sequence = sequence
    self.batch = batch
  }
}

/// How far an owner had come in a partition that it opens again: what it has committed must still be there.
package struct CommittedBatch: Hashable, Sendable {
  package var timeline: TimelineID
  package var number: Int64
  /// The highest id of an outbox entry by then. A report of one that was lost may still come: none other may have its id.
  package var outboxID: Int64
}
