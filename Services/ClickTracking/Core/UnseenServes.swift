package import AdCore
package import Pipeline

/// What the partitions of one process of click tracking may remember together.
package struct ClickMemory: Sendable {
  /// Served ads that were not seen and have clicks, about 4 MiB of them. For those beyond that the tables are asked.
  package static let servesMaximum = 1 << 16

  package let serves: SharedBound
  /// What was sent on.
  package let forwards = SharedBound(ForwardLimit.rememberedMaximum)

  package init(servesMaximum: Int = ClickMemory.servesMaximum) { serves = SharedBound(servesMaximum) }
}

/// A served ad with clicks that wait. Those whose tokens expire first come first.
package struct UnseenServe: Hashable, Comparable, Sendable {
  package var serveID: ServeID
  /// The token's.
  package var expiresAt: Timestamp

  package init(serveID: ServeID, expiresAt: Timestamp) {
    self.serveID = serveID
    self.expiresAt = expiresAt
  }

  package init(of terms: ServedTerms) { self.init(serveID: terms.serveID, expiresAt: terms.expiresAt) }

  package static func < (left: Self, right: Self) -> Bool {
    (left.expiresAt, left.serveID) < (right.expiresAt, right.serveID)
  }
}

/// The ads that were not seen, whose clicks wait and whose tokens expire before a moment: of these, in their order, `count`
/// behind the first `skipped`. What the tables have answers it, so that a batch of the timer does the same whoever runs it,
/// whatever he remembers (I4).
package struct ExpiredServes: Hashable, Sendable {
  package var before: Timestamp
  package var skipped: Int
  package var count: Int

  package init(before: Timestamp, skipped: Int, count: Int) {
    self.before = before
    self.skipped = skipped
    self.count = count
  }

  /// Those of `serves` that are asked for; all are unseen and expire before then.
  package func of(_ serves: [UnseenServe]) -> [ServeID] { serves.dropFirst(skipped).prefix(count).map(\.serveID) }
}

/// Some of a partition's served ads on which clicks wait, as the tables have them.
package struct UnseenPage: Hashable, Sendable {
  /// Which ones are asked for: the next `count` behind `after`, in their order, seen ones among them.
  package struct Query: Hashable, Sendable {
    package var after: UnseenServe
    package var count: Int

    /// Before every ad.
    package static let beforeAll = UnseenServe(
      serveID: ServeID(timestamp: Timestamp(milliseconds: 0), randomHigh: 0, randomLow: 0),
      expiresAt: Timestamp(milliseconds: 0))

    package init(after: UnseenServe = Self.beforeAll, count: Int) {
      self.after = after
      self.count = count
    }
  }

  /// What it answers.
  package var query: Query
  /// Those that were not seen.
  package var serves: [UnseenServe]
  /// The last one that was looked at; nil where none is left behind these.
  package var last: UnseenServe?

  package init(answering query: Query, serves: [UnseenServe], last: UnseenServe?) {
    self.query = query
    self.serves = serves
    self.last = last
  }
}

/// The served ads of a partition that were not seen and on which clicks wait, as far as it must be known without asking the
/// tables: an impression for which none waits costs no look-up, and the timer knows when some wait in vain (M5).
///
/// It knows those that expire first, up to ``lastKnown``, and no more than its part of ``ClickMemory``: somebody with many
/// clients can make clicks wait on as many ads as he is served. For later ones the tables are asked. When half of its part
/// is free it reads on, as it does at first: it begins with nothing. It may know an ad on which nothing waits, of a commit
/// that failed; that costs a look-up.
struct UnseenServes {
  /// Read by one batch at most.
  static let pageMaximum = 8_192
  private var expiries: [ServeID: Timestamp] = [:]
  /// All that wait up to this one are known; nil where all are.
  private var lastKnown: UnseenServe? = UnseenPage.Query.beforeAll
  /// No token of those that are known expires earlier.
  private(set) var earliestExpiry = Timestamp(milliseconds: .max)
  /// Since ``begin()``, in case that they wait all the same.
  private var released: [UnseenServe] = []
  private let quota: SharedBound.Quota

  init(quota: SharedBound.Quota) { self.quota = quota }

  /// Others came who share the bound.
  var isOverPart: Bool { expiries.count > quota.part }

  /// Of a part that others may change meanwhile, so many are known when it was read on, or some were forgotten.
  private static func countAfter(part: Int) -> Int { part - part / 4 }

  /// What it reads on; nil where it knows all, or enough.
  var nextPage: UnseenPage.Query? {
    let part = quota.part
    guard let lastKnown, 2 * expiries.count < part else { return nil }
    return UnseenPage.Query(
      after: lastKnown, count: min(Self.pageMaximum, Self.countAfter(part: part) - expiries.count))
  }

  /// Whether clicks may wait on this ad.
  func mayWait(_ serve: UnseenServe) -> Bool { isBeyond(serve) || expiries[serve.serveID] != nil }

  /// Whether only the tables know.
  func isBeyond(_ serve: UnseenServe) -> Bool { lastKnown.map { serve > $0 } ?? false }

  /// A batch begins: what came before it cannot be taken back any more. Leaves room for others who came.
  mutating func begin() {
    released.empty()
    if isOverPart { forgetLatest() }
  }

  /// The answer to ``nextPage``: passed over where others who share the bound made it forget some meanwhile, for these would
  /// be missing in between.
  mutating func readOn(_ page: UnseenPage) {
    guard page.query.after == lastKnown else { return }
    for serve in page.serves { add(serve) }
    lastKnown = page.last
  }

  /// A click waits for the view of this ad.
  mutating func park(_ serve: UnseenServe) {
    guard !isBeyond(serve) else { return }
    add(serve)
    if isOverPart { forgetLatest() }
  }

  private mutating func add(_ serve: UnseenServe) {
    expiries[serve.serveID] = serve.expiresAt
    earliestExpiry = min(earliestExpiry, serve.expiresAt)
  }

  /// No click waits for this ad's view any more.
  mutating func release(_ serve: ServeID) {
    guard let expiresAt = expiries.removeValue(forKey: serve) else { return }
    released.append(UnseenServe(serveID: serve, expiresAt: expiresAt))
  }

  /// No click waits for ads whose tokens expire before then.
  mutating func release(before expiry: Timestamp) {
    guard earliestExpiry < expiry else { return }
    for (serve, expiresAt) in expiries where expiresAt < expiry { release(serve) }
  }

  /// Finds ``earliestExpiry`` anew, after some were released.
  mutating func updateEarliestExpiry() {
    earliestExpiry = expiries.values.min() ?? Timestamp(milliseconds: .max)
  }

  private mutating func forgetLatest() {
    let known = expiries.map { UnseenServe(serveID: $0, expiresAt: $1) }.sorted()
    let count = Self.countAfter(part: quota.part)
    for serve in known.dropFirst(count) { expiries[serve.serveID] = nil }
    lastKnown = known.prefix(count).last ?? UnseenPage.Query.beforeAll
  }

  /// The commit failed: what was released waits. What was parked does not, which does no harm.
  mutating func revert() {
    for serve in released { park(serve) }
    released.empty()
  }

  mutating func committed() { released.empty() }
}
