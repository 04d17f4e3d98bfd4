import AdBasics
import AdEvents
import Testing

@testable import AdClient

@Suite("Which events go to the edge next")
struct EdgeFeedTests {
  private var chance = SeededChance(seed: 1)
  private var feed = EdgeFeed(batchMilliseconds: 0)
  private var now: Int64 = 0

  private mutating func add(_ count: Int) throws {
    for _ in 0..<count {
      let isTaken = feed.add(try sampleEvent(1), ended: { _ in }, at: ms(now))
      #expect(isTaken)
    }
  }

  /// How many events the next batch has; 0 where none is to be sent now.
  private mutating func next() -> Int {
    if case .send(let batch) = feed.next(appKey: "key", at: ms(now)) { batch.events.count } else { 0 }
  }

  /// Tells all there is.
  ///
  /// - Parameter granted: the most events of a batch that the edge's rates have room for.
  /// - Returns: the sizes of the batches, those that got 429 included.
  private mutating func tell(granted: Int) -> [Int] {
    var sizes: [Int] = []
    var size = next()
    while size > 0, sizes.count < 100 {
      sizes.append(size)
      if size <= granted {
        _ = feed.finished()
      } else {
        feed.throttled(pause: 2_000, at: ms(now), using: &chance)
        now += 2_000
      }
      size = next()
    }
    return sizes
  }

  @Test("Of an address that has room for one request at a time all is told, by ten; then batches grow again")
  mutating func throttled() throws {
    try add(60)
    #expect(tell(granted: EdgeBatch.requestEvents) == [60, 30, 15, 10, 20, 10, 20, 10, 20, 10, 20, 10, 10])
    #expect(feed.isEmpty)
    try add(300)
    #expect(tell(granted: EdgeBatch.eventsMaximum) == [40, 80, 100, 80])
  }

  @Test("What costs one request is sent again as it was, once Retry-After is over")
  mutating func oneRequest() throws {
    try add(7)
    #expect(next() == 7)
    feed.throttled(pause: 2_000, at: ms(now), using: &chance)
    now = 1_999
    #expect(next() == 0)
    now = 2_000
    #expect(next() == 7)
  }

  @Test("A busy edge's batch is sent again as it was, and one that is too large in halves down to one event")
  mutating func otherwise() throws {
    try add(8)
    #expect(next() == 8)
    feed.failed(pause: 1_000, at: ms(now), using: &chance)
    now = 1_000
    for size in [8, 4, 2, 1] {
      #expect(next() == size)
      feed.tooLarge()
    }
    #expect(next() == 1)
    _ = feed.finished()
    #expect(next() == 2)
  }
}
