package import AdCore

/// What the rules need of a request, as the index is asked.
package struct AdQuery: Sendable {
  package let request: AdEligibility.Request
  package let app: AppClass

  package init(_ request: AdEligibility.Request, in app: AppClass) {
    self.request = request
    self.app = app
  }
}

/// Apps of the same audience, categories and exclusions are one to the rules; most apps share one.
package final class AppClass: Sendable {
  package let profile: AdEligibility.AppProfile

  package init(_ profile: AdEligibility.AppProfile) { self.profile = profile }
}

/// What the rules say of all ads of an index for requests that are alike to them.
final class AdMatches: Sendable {
  /// What requests have in common that are alike to the rules. Matches keep their class of apps alive, so none other can
  /// have its identity meanwhile.
  struct Key: Hashable {
    /// Country, device and sizes.
    let inventory: UInt64
    let app: ObjectIdentifier
    /// Those that some ad is for.
    let segments: [Int32]

    init(_ query: AdQuery, segments: [Int32]) {
      let request = query.request
      let sizes: UInt64 = request.requiredSizes.reduce(0) { $0 | 1 << UInt64($1.rawValue) }
      inventory = sizes << 32 | UInt64(request.country.code) << 8 | UInt64(request.device.rawValue)
      app = ObjectIdentifier(query.app)
      self.segments = segments
    }
  }

  private let query: AdQuery
  /// The ads that keep all rules of the request, live or not.
  let eligible: AdSet
  /// A bit for each word of ``eligible`` that has one.
  let summary: [UInt64]
  /// For each word of the index how many eligible ads before it are live.
  let liveBefore: [Int32]
  /// All ads but those that are gone, by the first reason against them, but for allotments.
  let tally: ReasonTally
  /// That of the liveness they are counted by.
  let version: Int

  private init(
    _ query: AdQuery, eligible: AdSet, summary: [UInt64], tally: ReasonTally, liveness: Liveness
  ) {
    self.query = query
    self.eligible = eligible
    self.summary = summary
    self.tally = tally
    version = liveness.version
    var count: Int32 = 0
    liveBefore = eligible.words.indices.map { word in
      defer { count += Int32((eligible.words[word] & liveness.live.words[word]).nonzeroBitCount) }
      return count
    }
  }

  /// - Parameter kept: the ads that keep a rule; nil for all.
  convenience init(
    _ query: AdQuery, in index: AdIndex, liveness: Liveness, kept: (NoServeReason) -> AdSet?
  ) {
    var eligible = AdSet(allBelow: index.candidates.count)
    var tally = liveness.tally
    var left = liveness.live
    var before = left.counts(dividedAt: index.paidCount)
    for reason in AdEligibility.ofRequest {
      guard let kept = kept(reason) else { continue }
      eligible.formIntersection(kept)
      left.formIntersection(kept)
      let after = left.counts(dividedAt: index.paidCount)
      tally.move(before.below - after.below, to: reason, isHouse: false)
      tally.move(before.above - after.above, to: reason, isHouse: true)
      before = after
    }
    self.init(
      query, eligible: eligible, summary: eligible.summary, tally: tally, liveness: liveness)
  }

  /// The same counted again after the few flips since; nil where they are not known.
  func following(_ liveness: Liveness, in index: AdIndex) -> AdMatches? {
    guard let flips = liveness.flips(since: version) else { return nil }
    var tally = tally
    for flip in flips {
      let isHouse = index.isHouse(flip.position)
      tally.add(-1, standing(flip.old, at: flip.position, in: index), isHouse: isHouse)
      tally.add(1, standing(flip.new, at: flip.position, in: index), isHouse: isHouse)
    }
    return AdMatches(query, eligible: eligible, summary: summary, tally: tally, liveness: liveness)
  }

  /// What stands against an ad here, if it is live.
  private func standing(_ standing: Liveness.Standing, at position: Int, in index: AdIndex) -> Liveness.Standing {
    guard standing == .live, !eligible.contains(position) else { return standing }
    let subject = index.candidates[position].subject
    let reason = AdEligibility.reasonAgainst(subject, for: query.request, in: query.app.profile)
    return reason.map(Liveness.Standing.stopped) ?? .live
  }

  /// How many eligible ads are live.
  var liveCount: Int32 { tally.paid[nil] + tally.house[nil] }

  /// What it takes in memory, in bytes, about.
  var bytes: Int { eligible.words.count * 12 + summary.count * 8 + 1_024 }
}

extension ReasonTally {
  /// Counts `number` of those that nothing is against under `reason` instead.
  fileprivate mutating func move(_ number: Int32, to reason: NoServeReason, isHouse: Bool) {
    add(-number, against: nil, isHouse: isHouse)
    add(number, against: reason, isHouse: isHouse)
  }
}
