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
    let segments: ValueSet

    init(_ query: AdQuery, segments: ValueSet) {
      let request = query.request
      let sizes: UInt64 = request.requiredSizes.reduce(0) { $0 | 1 << UInt64($1.rawValue) }
      inventory = sizes << 32 | UInt64(request.country.code) << 8 | UInt64(request.device.rawValue)
      app = ObjectIdentifier(query.app)
      self.segments = segments
    }
  }

  private let query: AdQuery
  let eligible: EligibleAds
  /// Of all ads but those that are gone, by the first reason against them, but for allotments.
  let tally: ReasonTally
  /// That of the liveness they are counted by.
  let version: Int
  /// For so many words each how many eligible ads before them are live.
  private let liveBefore: [Int32]

  private static let wordsOfCount = 16

  private init(
    _ query: AdQuery, eligible: EligibleAds, tally: ReasonTally, liveBefore: [Int32], version: Int
  ) {
    self.query = query
    self.eligible = eligible
    self.tally = tally
    self.liveBefore = liveBefore
    self.version = version
  }

  private static func liveBefore(_ eligible: EligibleAds, _ live: [UInt64]) -> [Int32] {
    var count: Int32 = 0
    return stride(from: 0, to: live.count, by: wordsOfCount).map { first in
      defer {
        for word in first..<min(first + wordsOfCount, live.count) {
          count += Int32((eligible[word] & live[word]).nonzeroBitCount)
        }
      }
      return count
    }
  }

  convenience init(_ query: AdQuery, eligible: EligibleAds, in index: AdIndex, liveness: Liveness) {
    var tally = liveness.tally
    var left = liveness.live
    var before = left.counts(dividedAt: index.paidCount)
    for reason in AdEligibility.ofRequest {
      guard let part = reason.part, let kept = eligible[part].ads(keeping: reason) else { continue }
      left.formIntersection(kept)
      let after = left.counts(dividedAt: index.paidCount)
      tally.move(before.below - after.below, to: reason, isHouse: false)
      tally.move(before.above - after.above, to: reason, isHouse: true)
      before = after
    }
    self.init(
      query, eligible: eligible, tally: tally,
      liveBefore: AdMatches.liveBefore(eligible, liveness.live.words), version: liveness.version)
  }

  /// The same counted again after the few flips since; nil where they are not known.
  func following(_ liveness: Liveness, in index: AdIndex) -> AdMatches? {
    guard let flips = liveness.flips(since: version) else { return nil }
    var (tally, liveBefore) = (tally, liveBefore)
    for flip in flips {
      let more: Int32 = (flip.new == .live ? 1 : 0) - (flip.old == .live ? 1 : 0)
      if more != 0, eligible.contains(flip.position) {
        for block in flip.position / (64 * AdMatches.wordsOfCount) + 1..<liveBefore.count {
          liveBefore[block] += more
        }
      }
      let isHouse = index.isHouse(flip.position)
      tally.add(-1, standing(flip.old, at: flip.position, in: index), isHouse: isHouse)
      tally.add(1, standing(flip.new, at: flip.position, in: index), isHouse: isHouse)
    }
    return AdMatches(
      query, eligible: eligible, tally: tally, liveBefore: liveBefore, version: liveness.version)
  }

  /// What stands against an ad here, if it is live.
  private func standing(_ standing: Liveness.Standing, at position: Int, in index: AdIndex) -> Liveness.Standing {
    guard standing == .live, !eligible.contains(position) else { return standing }
    let subject = index.candidates[position].subject
    let reason = AdEligibility.reasonAgainst(subject, for: query.request, in: query.app.profile)
    return reason.map(Liveness.Standing.stopped) ?? .live
  }

  /// How many eligible ads before those of a word are among the `live`.
  func liveCount(before word: Int, _ live: [UInt64]) -> Int {
    let block = word / AdMatches.wordsOfCount
    return (block * AdMatches.wordsOfCount..<word).reduce(Int(liveBefore[block])) {
      $0 + (eligible[$1] & live[$1]).nonzeroBitCount
    }
  }

  /// Where the eligible ad lies before which `rank` live ones come: the first word of its block, and how many come before
  /// that.
  func block(ofLive rank: Int) -> (firstWord: Int, before: Int) {
    let block = liveBefore.lastIndex { $0 <= rank } ?? 0
    return (block * AdMatches.wordsOfCount, Int(liveBefore[block]))
  }

  /// What it takes in memory besides its ``eligible`` ads, in bytes, about.
  var bytes: Int { liveBefore.count * 4 + 1_024 }
}

extension ReasonTally {
  /// Counts `number` of those that nothing is against under `reason` instead.
  fileprivate mutating func move(_ number: Int32, to reason: NoServeReason, isHouse: Bool) {
    add(-number, against: nil, isHouse: isHouse)
    add(number, against: reason, isHouse: isHouse)
  }
}
