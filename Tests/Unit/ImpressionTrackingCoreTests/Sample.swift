import AdCore
import AdEvents
import ImpressionTrackingCore
import TestValues
import Testing

@testable import Pipeline

/// Values for the tests.
enum Sample {
  static let partition: Int32 = 1

  static func terms(
    number: UInt64 = 1, partition: Int32 = partition, issuedMillisecondsAgo: Int64 = 2_000
  ) throws -> ServedTerms {
    let issuedAt = ImpressionDeciderTests.now.advanced(byMilliseconds: -issuedMillisecondsAgo)
    return .sample(serve: number, partition: partition, issuedAt: issuedAt)
  }

  static func failure(
    _ number: UInt64 = 9, key: [UInt8] = [1], at time: Timestamp = ImpressionDeciderTests.now
  ) throws -> ImpressionInput {
    .failure(
      RequestFailure(
        requestID: UUIDv7(timestamp: time, randomHigh: 0, randomLow: number), keyHash: key,
        app: try #require(AppID("app")), placement: try #require(PlacementID("home")), error: .serverFailure))
  }

  /// The keys 1 (live), 2 (test) and 3 (revoked) of the app, and 4 of another.
  static func knowledge() throws -> ImpressionKnowledge {
    let (app, other) = (try #require(AppID("app")), try #require(AppID("other")))
    var knowledge = ImpressionKnowledge()
    for key in [
      AppKey(app: app, build: .distribution, keyHash: [1]), AppKey(app: app, build: .adHoc, keyHash: [2]),
      AppKey(app: app, build: .distribution, keyHash: [3], isRevoked: true),
      AppKey(app: other, build: .distribution, keyHash: [4]),
    ] {
      knowledge.keys[key.keyHash] = key
    }
    return knowledge
  }

  static func context() -> BatchContext {
    BatchContext(
      partition: partition, partitionCount: 4, now: ImpressionDeciderTests.now, batchNumber: 1, nextSequences: [7],
      committedWatermark: Timestamp(milliseconds: 0), watermark: Timestamp(milliseconds: 0), consumedWatermarks: [],
      isDuplicateSuspected: false)
  }

  static func records(_ inputs: [ImpressionInput]) -> [InputRecord<ImpressionInput>] {
    inputs.enumerated().map { offset, event in
      InputRecord(
        input: 0, offset: Int64(offset), timestamp: 0, arrival: ImpressionDeciderTests.now, sequence: .unnumbered,
        event: event, contentHash: 0, raw: RawRange(start: 0, keyCount: -1, valueCount: -1, headersCount: 0))
    }
  }

  static func decide(
    _ decider: inout ImpressionDecider, _ inputs: [ImpressionInput]
  ) throws -> BatchDecision<ImpressionEffects> {
    decider.decide(records(inputs), knowing: try knowledge(), context: context())
  }
}

extension ImpressionInput {
  static func viewed(_ terms: ServedTerms, age: Int64 = 1_000) -> ImpressionInput {
    .event(ServedEvent(kind: .viewed, terms: terms, age: .milliseconds(age), claimedTime: nil, error: nil))
  }

  static func event(_ terms: ServedTerms, _ kind: ImpressionEvent.Kind) -> ImpressionInput {
    .event(ServedEvent(kind: kind, terms: terms, age: .milliseconds(1_000), claimedTime: nil, error: nil))
  }
}
