internal import AdCore
internal import AdSelectionCore
internal import JSON
internal import Operations

/// What logged auctions came to, beside what they come to when they are held again.
struct WhatIfReport: Sendable {
  /// Fills and what they are worth.
  struct Figures: Hashable, Sendable {
    private(set) var fills: Int64 = 0
    /// The prices of the impressions, in nanos.
    private(set) var prices: Int128 = 0
    /// Millionths of a nano of the network's own unit.
    private var expectedMillionths: Int128 = 0
    /// What impressions and clicks are expected to bring, in nanos of the network's own unit, rounded down.
    var expected: Int128 { expectedMillionths / Int128(ClickRateEstimate.whole) }

    mutating func add(_ fill: AuctionOutcome.Fill) {
      fills += 1
      prices += Int128(fill.impressionPrice.value)
      expectedMillionths += fill.expectedValue
    }
  }

  /// The same as it was logged, and held again.
  struct Pair: Hashable, Sendable {
    var logged = Figures()
    var replayed = Figures()
  }

  /// An auction that comes to something else.
  struct Difference: Sendable {
    let serveID: ServeID
    let logged: AuctionOutcome
    let replayed: AuctionOutcome
  }

  /// So many differences are told one by one.
  static let differencesMaximum = 20

  let from: Timestamp
  let to: Timestamp
  /// Whether the catalogue or the budgets were taken to be others than those logged.
  let isChanged: Bool
  /// Live requests that were decided.
  var decisions: Int64 = 0
  /// Those that were held again.
  private(set) var auctions: Int64 = 0
  private(set) var different: Int64 = 0
  /// Those that were decided without an auction: refused, throttled, too late.
  var withoutAuction: Int64 = 0
  /// Those of which it is not known what went into them.
  var notKnown: Int64 = 0
  private(set) var currencies: [Currency: Pair] = [:]
  private(set) var campaigns: [CampaignID: Pair] = [:]
  private var currenciesOfCampaigns: [CampaignID: Currency] = [:]
  /// Why there was no ad, as logged and as held again.
  private(set) var unfilled: [DecisionReason: (logged: Int64, replayed: Int64)] = [:]
  private(set) var differences: [Difference] = []

  init(from: Timestamp, to: Timestamp, isChanged: Bool) {
    self.from = from
    self.to = to
    self.isChanged = isChanged
  }

  var same: Int64 { auctions - different }

  mutating func add(_ auction: LoggedAuction, replayed: AuctionOutcome) {
    auctions += 1
    add(auction.outcome, \.logged)
    add(replayed, \.replayed)
    if auction.outcome.fill == nil { unfilled[auction.outcome.reason, default: (0, 0)].logged += 1 }
    if replayed.fill == nil { unfilled[replayed.reason, default: (0, 0)].replayed += 1 }
    guard isOther(auction.outcome, than: replayed) else { return }
    different += 1
    if differences.count < Self.differencesMaximum {
      differences.append(Difference(serveID: auction.serveID, logged: auction.outcome, replayed: replayed))
    }
  }

  /// Other rates make another worth of the same ad at the same price.
  private func isOther(_ logged: AuctionOutcome, than replayed: AuctionOutcome) -> Bool {
    guard isChanged, var fill = logged.fill, let other = replayed.fill else { return logged != replayed }
    fill.expectedValue = other.expectedValue
    return logged.reason != replayed.reason || fill != other
  }

  private mutating func add(_ outcome: AuctionOutcome, _ side: WritableKeyPath<Pair, Figures>) {
    guard let fill = outcome.fill else { return }
    currencies[fill.currency, default: Pair()][keyPath: side].add(fill)
    campaigns[fill.campaign, default: Pair()][keyPath: side].add(fill)
    currenciesOfCampaigns[fill.campaign] = fill.currency
  }

  /// Those whose expected worth differs most first.
  var rankedCampaigns: [(campaign: CampaignID, currency: Currency?, figures: Pair)] {
    let ranked = campaigns.sorted { left, right in
      let (ours, theirs) = (left.value.change.magnitude, right.value.change.magnitude)
      return ours == theirs ? left.key < right.key : ours > theirs
    }
    return ranked.map { ($0.key, currenciesOfCampaigns[$0.key], $0.value) }
  }
}

extension WhatIfReport.Pair {
  /// How much more it is expected to bring, in nanos.
  var change: Int128 { replayed.expected - logged.expected }
}

extension WhatIfReport {
  /// For people.
  var text: String {
    var lines = [
      "\(from.utcText) to \(to.utcText)",
      "\(decisions) live requests: \(auctions) auctions held again, \(withoutAuction) decided without one, "
        + "\(notKnown) of which it is not known what went into them",
      "\(same) come to the same ad and price, \(different) to another",
    ]
    if !currencies.isEmpty {
      var table = TextTable(
        ["currency", "fills", "held again", "impressions", "held again", "expected", "held again"],
        rightAligned: Set(1...6))
      table.rows = currencies.sorted { $0.key < $1.key }.map { ["\($0.key)"] + Self.cells($0.value) }
      lines += ["", String(table.text.dropLast())]
    }
    if !campaigns.isEmpty {
      var table = TextTable(
        ["campaign", "fills", "held again", "impressions", "held again", "expected", "held again", ""],
        rightAligned: Set(1...6))
      table.rows = rankedCampaigns.map {
        [$0.campaign.text] + Self.cells($0.figures) + ["\($0.currency?.description ?? "")"]
      }
      lines += ["", String(table.text.dropLast())]
    }
    if !unfilled.isEmpty {
      var table = TextTable(["no ad, because", "logged", "held again"], rightAligned: [1, 2])
      table.rows = unfilled.sorted { $0.key.rawValue < $1.key.rawValue }.map {
        [$0.key.meaning, TextTable.grouped($0.value.logged), TextTable.grouped($0.value.replayed)]
      }
      lines += ["", String(table.text.dropLast())]
    }
    if !differences.isEmpty {
      lines += ["", "The first that differ (handbill explain ID tells more):"]
      lines += differences.map { "  \($0.serveID): \($0.logged.text), held again: \($0.replayed.text)" }
    }
    return lines.joined(separator: "\n")
  }

  private static func cells(_ pair: Pair) -> [String] {
    [
      TextTable.grouped(pair.logged.fills), TextTable.grouped(pair.replayed.fills),
      MoneyText.format(pair.logged.prices), MoneyText.format(pair.replayed.prices),
      MoneyText.format(pair.logged.expected), MoneyText.format(pair.replayed.expected),
    ]
  }

  /// For programs: amounts in nanos.
  var json: JSONValue {
    [
      "from": .text(from.utcText), "to": .text(to.utcText), "isChanged": .flag(isChanged),
      "decisions": .integer(decisions), "auctions": .integer(auctions), "same": .integer(same),
      "different": .integer(different), "withoutAuction": .integer(withoutAuction), "notKnown": .integer(notKnown),
      "currencies": .list(
        currencies.sorted { $0.key < $1.key }.map {
          ["currency": .text("\($0.key)"), "logged": $0.value.logged.json, "replayed": $0.value.replayed.json]
        }),
      "campaigns": .list(
        rankedCampaigns.map {
          [
            "campaign": .text($0.campaign.text), "currency": .optional($0.currency?.description),
            "logged": $0.figures.logged.json, "replayed": $0.figures.replayed.json,
          ]
        }),
      "unfilled": .list(
        unfilled.sorted { $0.key.rawValue < $1.key.rawValue }.map {
          [
            "reason": .text($0.key.name), "logged": .integer($0.value.logged), "replayed": .integer($0.value.replayed),
          ]
        }),
      "differences": .list(
        differences.map {
          ["serveId": .text("\($0.serveID)"), "logged": $0.logged.json, "replayed": $0.replayed.json]
        }),
    ]
  }
}

extension WhatIfReport.Figures {
  var json: JSONValue {
    ["fills": .integer(fills), "impressionNanos": .integer(prices), "expectedNanos": .integer(expected)]
  }
}

extension AuctionOutcome {
  var text: String {
    guard let fill else { return reason.name }
    return
      "\(fill.ad) at \(MoneyText.format(fill.impressionPrice)) + \(MoneyText.format(fill.clickPrice)) \(fill.currency)"
  }

  var json: JSONValue {
    [
      "reason": .text(reason.name), "ad": .optional(fill?.ad.text),
      "impressionPriceNanos": fill.map { .integer($0.impressionPrice.value) } ?? .null,
      "clickPriceNanos": fill.map { .integer($0.clickPrice.value) } ?? .null,
    ]
  }
}
