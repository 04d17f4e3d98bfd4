internal import AdCore

/// What one level of the catalogue has to offer to one request.
struct Offer {
  let index: AdIndex
  private let matches: AdMatches
  private let live: [UInt64]
  private let sellable: [UInt64]
  private let sellableSummary: [UInt64]
  /// What speaks against all paid ads; nil where they may be served.
  private let paidRefusal: NoServeReason?
  /// No ad before it may be served: where paid ones may not be, the first house ad.
  private let first: Int

  init(_ query: AdQuery, _ level: AdLevel, _ sellable: SellableAds, _ paidAds: PaidAdsState) {
    index = level.index
    matches = index.matches(for: query, liveness: level.liveness)
    live = level.liveness.live.words
    self.sellable = sellable.ads.words
    sellableSummary = sellable.summary
    paidRefusal = paidAds.refusal
    first = paidRefusal == nil ? 0 : index.paidCount
  }

  /// Its ads by the first reason against them, but for allotments.
  var counts: ReasonCounts {
    guard let paidRefusal else { return matches.tally.all }
    var counts = matches.tally.house
    counts[paidRefusal] = matches.tally.paidTotal
    return counts
  }

  /// The first of its best ads that can be sold; nil if none can.
  var best: Int? {
    for block in first / 4_096..<max(first / 4_096, sellableSummary.count) {
      var words = sellableSummary[block]
      while words != 0 {
        let word = block * 64 + words.trailingZeroBitCount
        let bits = offered(word) & sellable[word] & ~AdSet.mask(below: first - word * 64)
        if bits != 0 { return word * 64 + bits.trailingZeroBitCount }
        words &= words - 1
      }
    }
    return nil
  }

  private func offered(_ word: Int) -> UInt64 { matches.eligible[word] & live[word] }

  /// How many ads of `range` can be sold.
  func sellableCount(in range: Range<Int>) -> Int {
    guard !range.isEmpty else { return 0 }
    // House ads need no allotment: how many of them are offered is known, block by block.
    if index.isHouse(range.lowerBound) { return rank(range.upperBound) - rank(range.lowerBound) }
    let (low, high) = (range.lowerBound / 64, (range.upperBound - 1) / 64)
    var count = 0
    for word in low...high { count += (offered(word) & sellable[word]).nonzeroBitCount }
    let outside = (
      offered(low) & sellable[low] & AdSet.mask(below: range.lowerBound % 64),
      offered(high) & sellable[high] & ~AdSet.mask(below: range.upperBound - high * 64)
    )
    return count - outside.0.nonzeroBitCount - outside.1.nonzeroBitCount
  }

  /// How many ads before `end` could be served, had they an allotment or not.
  func offeredCount(before end: Int) -> Int { max(0, rank(end) - rank(first)) }

  private func rank(_ position: Int) -> Int {
    if position == 0 { return 0 }
    if position == index.paidCount { return Int(matches.tally.paidWithoutReason) }
    if position == index.candidates.count { return Int(matches.tally.all[nil]) }
    let word = position / 64
    return matches.liveCount(before: word, live) + (offered(word) & AdSet.mask(below: position % 64)).nonzeroBitCount
  }

  /// The `number`th ad of `range` that can be sold, from 0; nil if there are no more.
  func sellable(_ number: Int, in range: Range<Int>) -> Int? {
    guard !range.isEmpty else { return nil }
    if index.isHouse(range.lowerBound) {
      return position(ofOffered: rank(range.lowerBound) + number).flatMap { range.contains($0) ? $0 : nil }
    }
    var left = number
    for word in range.lowerBound / 64...(range.upperBound - 1) / 64 {
      let bits =
        offered(word) & sellable[word] & ~AdSet.mask(below: range.lowerBound - word * 64)
        & AdSet.mask(below: range.upperBound - word * 64)
      let count = bits.nonzeroBitCount
      if left < count { return word * 64 + bits.position(ofBit: left) }
      left -= count
    }
    return nil
  }

  /// The ad before which `rank` ads could be served, had they an allotment or not; nil if there are no more.
  private func position(ofOffered rank: Int) -> Int? {
    let block = matches.block(ofLive: rank)
    var left = rank - block.before
    for word in block.firstWord..<live.count {
      let bits = offered(word)
      let count = bits.nonzeroBitCount
      if left < count { return word * 64 + bits.position(ofBit: left) }
      left -= count
    }
    return nil
  }

  /// The ads that are worth as much as `best`, from itself on; of house ads, which are worth nothing, all.
  func equals(from best: Int) -> Range<Int> {
    (index.isHouse(best) ? index.paidCount : best)..<Int(index.groupEnds[best])
  }

  /// The ads that are worth as much as `best`, of either level, from the first that can be sold on; where there are none,
  /// the empty range at their place.
  func equals(of worth: AdWorth, from best: Int?) -> Range<Int> {
    if let best, index.candidates[best].worth == worth { return equals(from: best) }
    let end = index.count(worthAtLeast: worth)
    return end..<end
  }
}
