internal import AdCore

/// The ads of an ``AdIndex`` that a partition could sell at this moment: a bit is set if and only if a reservation would
/// succeed. House ads need none. Kept, not asked: it follows what happens to the allotments.
struct SellableAds: Hashable, Sendable {
  /// Not kept alive: a partition that nobody asks for an ad would hold an old catalogue, and what is remembered of it. Nil
  /// once that is gone, until the next auction.
  weak let index: AdIndex?
  private(set) var ads: AdSet
  /// A bit for each word of ``ads`` that has one.
  private(set) var summary: [UInt64]

  /// As `book` stands.
  init(of index: AdIndex, _ book: inout AllotmentBook) {
    self.index = index
    ads = AdSet(capacity: index.candidates.count) { $0 >= index.paidCount }
    summary = []
    for (campaign, positions) in index.campaigns { book.visit(campaign) { note(positions, &$0, in: index) } }
    summary = ads.summary
  }

  /// Looks at the ads of one campaign again.
  fileprivate mutating func refresh(_ campaign: CampaignID, _ funds: inout CampaignFunds) {
    guard let index, let positions = index.campaigns[campaign] else { return }
    note(positions, &funds, in: index)
    for position in positions {
      let word = Int(position) / 64
      let bit: UInt64 = 1 << UInt64(word % 64)
      if ads.words[word] == 0 { summary[word / 64] &= ~bit } else { summary[word / 64] |= bit }
    }
  }

  fileprivate mutating func follow(_ index: AdIndex, _ book: inout AllotmentBook) {
    if self.index !== index { self = SellableAds(of: index, &book) }
  }

  private mutating func note(_ positions: [Int32], _ funds: inout CampaignFunds, in index: AdIndex) {
    for position in positions where position < index.paidCount {
      ads.set(Int(position), to: funds.canReserve(index.prices[Int(position)]))
    }
  }

  /// By the same positions, in whatever index.
  static func == (left: SellableAds, right: SellableAds) -> Bool { left.ads == right.ads }

  func hash(into hasher: inout Hasher) { hasher.combine(ads) }
}

/// The same for both levels of a catalogue.
struct SellableLevels: Hashable, Sendable {
  private(set) var base: SellableAds
  private(set) var recent: SellableAds

  /// Of a catalogue without ads.
  static let none = SellableLevels()

  private init() {
    var book = AllotmentBook()
    base = SellableAds(of: AdIndex([]), &book)
    recent = base
  }

  /// Goes on to `snapshot`, as `book` stands: looks again at campaigns that were touched, and at all where the ads are others.
  mutating func follow(_ snapshot: CatalogSnapshot, _ book: inout AllotmentBook) {
    base.follow(snapshot.base.index, &book)
    recent.follow(snapshot.recent.index, &book)
    while book.visitTouched({ campaign, funds in
      base.refresh(campaign, &funds)
      recent.refresh(campaign, &funds)
    }) {}
  }
}
