import Pipeline

/// Without new faults everything must come to rest.
extension World {
  func drain() {
    for round in 0..<60 {
      time.advance(byMilliseconds: 1_000)
      beat()
      if isRestoreDue { acceptRestore() }
      for fleet in fleets {
        for instance in fleet.instances { drain(instance) }
      }
      // What was said last is read, and nothing said in return.
      for fleet in fleets { for instance in fleet.instances { listen(instance) } }
      if round > 1, isAtRest { return }
    }
    for fleet in fleets { fail("\(fleet.books.name) did not come to rest: \(describe(fleet))") }
  }

  private func drain(_ instance: any SimulatedInstance) {
    instance.refreshCounts()
    instance.context.catalog?.follow(now: instance.context.clock.now)
    instance.context.writer.rebuild()
    if instance.context.writer.isUntold { instance.tellRebuilt() }
    for partition in instance.assigned.sorted() where !instance.openPartitions.contains(partition) {
      instance.open(partition)
    }
    for partition in instance.openPartitions {
      for _ in 0..<3 { instance.work(partition, recordsMaximum: 50) }
      instance.watchEnds(partition)
    }
    instance.tick()
    instance.writeCounts()
    instance.context.writer.progress(everything: true)
    instance.takeReports(everything: true)
  }

  private func listen(_ instance: any SimulatedInstance) {
    for partition in instance.openPartitions { instance.work(partition, recordsMaximum: 50) }
    instance.context.writer.progress(everything: true)
    instance.takeReports(everything: true)
  }

  private var isAtRest: Bool {
    fleets.allSatisfy { fleet in
      let isWriterIdle = fleet.instances.allSatisfy(\.context.writer.isIdle)
      return isWriterIdle
        && (0..<partitionCount).allSatisfy { partition in
          fleet.instances.contains { $0.assigned.contains(partition) && $0.isCaughtUp(partition) }
        }
    } && isEverythingConsumed && selection.tables.counts.isComplete && impressions.tables.counts.isComplete
      && clicks.tables.counts.isComplete && billing.tables.counts.isComplete
  }

  /// Everything that was produced was taken, by everybody who takes it.
  private var isEverythingConsumed: Bool {
    (0..<partitionCount).allSatisfy { partition in
      let shown = impressions.row(partition).outputs[0].nextSequence - 1
      let clicked = clicks.row(partition).outputs[0].nextSequence - 1
      let closed = selection.row(partition).outputs[0].nextSequence - 1
      let granted = billing.row(partition).outputs[0].nextSequence - 1
      return billing.row(partition).inputs.map(\.consumedSequence) == [shown, clicked, closed]
        && clicks.row(partition).inputs[1].consumedSequence == shown
        && selection.row(partition).inputs[1].consumedSequence == granted
    }
  }

  private func describe(_ fleet: Fleet) -> String {
    let owners = fleet.instances.map { instance in
      "owns \(instance.assigned.sorted()), has open \(instance.openPartitions)"
        + (instance.context.writer.isDown ? ", its producer is down" : "")
    }
    return (0..<partitionCount).map { partition in
      let row = fleet.books.partitions[partition]
      let ends = fleet.books.inputTopics.map { log[LogID(topic: $0, partition: partition)].endOffset }
      return
        "\(partition): inputs \(row?.inputs.map { "\($0.nextOffset)/\($0.consumedSequence)" } ?? []) of \(ends), outputs "
        + "\(row?.outputs.map { "\($0.confirmedSequence)/\($0.nextSequence)" } ?? []), outbox \(row?.outbox.count ?? 0)"
    }.joined(separator: "; ") + "; " + owners.joined(separator: "; ")
      + (fleet.books.lastError.map { "; \($0)" } ?? "") + fleet.books.anomalies.prefix(3).joined(separator: "; ")
  }
}
