import Runtime

/// Impressions persisted per second by the real service, beside a bare binary COPY: of the reference row, and of the same
/// rows. All of them in each round.
struct TrackingBenchmark {
  let surroundings: Surroundings
  /// Of one round.
  let impressions: Int
  private static let memory = "impression tracking, most memory"
  private static let memoryLimit = "the most under load"

  func run() throws -> [BenchmarkResult] {
    var feed = try TrackingFeed(surroundings: surroundings, seed: 1)
    let reference = RowCopy.reference(databaseURL: surroundings.databaseURL)
    var rounds = Rounds()
    try surroundings.warmUp("tracking") {
      _ = try feed.fill(impressions)
      _ = try feed.track(records: impressions)
      return Double(impressions)
    }
    for round in 1...Rounds.count {
      progress("tracking, round \(round) of \(Rounds.count)")
      let same = RowCopy.impressions(databaseURL: surroundings.databaseURL, terms: try feed.fill(impressions))
      rounds.note("COPY of the reference row, no index", try reference.rate(withKey: false))
      rounds.note("COPY of the reference row, primary key", try reference.rate(withKey: true))
      rounds.note("COPY of the same rows, no index", try same.rate(withKey: false))
      rounds.note("COPY of the same rows, primary key", try same.rate(withKey: true))
      let tracked = try feed.track(records: impressions)
      rounds.note("impressions tracked", tracked.recordsPerSecond)
      for (process, each) in tracked.microseconds { rounds.note("tracking, processor time of \(process)", each) }
      rounds.note(Self.memory, tracked.mebibytes)
      rounds.note(Self.memoryLimit, ResidentMemory.limitUnderLoad)
    }
    return [
      rounds.result("COPY of the reference row, no index", "rows/s"),
      rounds.result(
        "COPY of the reference row, primary key", "rows/s", beside: "COPY of the reference row, no index"),
      rounds.result("COPY of the same rows, no index", "rows/s", beside: "COPY of the reference row, no index"),
      rounds.result("COPY of the same rows, primary key", "rows/s", beside: "COPY of the reference row, no index"),
      rounds.result("impressions tracked", "events/s", beside: "COPY of the reference row, no index"),
      rounds.result("impressions tracked", "events/s", beside: "COPY of the same rows, no index"),
      rounds.result("tracking, processor time of the service", "us/event"),
      rounds.result("tracking, processor time of PostgreSQL", "us/event"),
      rounds.result("tracking, processor time of Kafka", "us/event"),
      rounds.result(Self.memory, "MiB", beside: Self.memoryLimit),
    ]
  }
}

func progress(_ text: String) { Terminal.note("bench: \(text)") }
