internal import AdCore

/// Tells which ads of a campaign its allotments can pay for at one moment, and remembers how much was enough for them.
struct CampaignFunds {
  private let allotments: [AllotmentRow]
  private let now: Timestamp
  /// So much left of an allotment sells every ad that was asked for and can be sold, in nanos.
  private(set) var enough: Int64

  init(_ allotments: [AllotmentRow], enough: Int64, at now: Timestamp) {
    self.allotments = allotments
    self.enough = enough
    self.now = now
  }

  /// Whether ``AllotmentBook/reserve(campaign:price:now:)`` would find an allotment.
  mutating func canReserve(_ price: AdPrice) -> Bool {
    guard allotments.firstIndex(withRoomFor: price, now: now) != nil else { return false }
    enough = max(enough, allotments.mostReserved(for: price))
    return true
  }
}
