internal import AdCore
internal import AdSelectionCore
internal import JSON
internal import Operations
internal import Postgres

/// Why requests got no ad: by rule for all of them, and by campaign for a share, whose auctions are looked at again ad by
/// ad.
struct UnfilledReport: Sendable {
  /// How a campaign missed the sampled requests.
  struct Missed: Hashable, Sendable {
    /// In how many no other campaign came further in the order of the rules.
    var nearest: Int64 = 0
    /// By the rule at which its best ad failed.
    var reasons: [NoServeReason: Int64] = [:]

    /// The most frequent first.
    var ranked: [(reason: NoServeReason, requests: Int64)] {
      reasons.sorted { ($1.value, $0.key.rawValue) < ($0.value, $1.key.rawValue) }.map { ($0.key, $0.value) }
    }
  }

  let from: Timestamp
  let to: Timestamp
  /// One of so many is sampled.
  let oneIn: UInt64
  private(set) var unfilled: [DecisionReason: Int64] = [:]
  /// By the first rule against each ad, over all requests.
  private(set) var ads: [NoServeReason: Int64] = [:]
  private(set) var sampled: Int64 = 0
  private(set) var campaigns: [CampaignID: Missed] = [:]

  /// Only what an auction left without an ad: who was refused or throttled had none.
  static func make(
    _ question: LoggedHistory.Question, oneIn: UInt64, _ connection: PostgresConnection
  ) throws -> UnfilledReport {
    var report = UnfilledReport(from: question.from, to: question.to, oneIn: oneIn)
    try LoggedHistory.visit(question, connection, isWanted: isUnfilled) {
      decision, auction, replay in
      report.unfilled[decision.reason, default: 0] += 1
      for (reason, ads) in decision.excluded { report.ads[reason, default: 0] += Int64(ads) }
      guard report.isSampled(decision), case .known(let known) = auction,
        let reasons = replay.reasons(against: known.auction, in: known.snapshot)
      else { return }
      report.sampled += 1
      report.add(reasons.nearest)
    }
    return report
  }

  private static func isUnfilled(_ decision: LoggedDecision) -> Bool { decision.hadAuction && !decision.reason.isFill }

  /// The same ones whenever it is asked.
  private func isSampled(_ decision: LoggedDecision) -> Bool {
    var hash = SeededHash(seed: 0)
    hash.combine(decision.serveID)
    return hash.finalized() % oneIn == 0
  }

  private mutating func add(_ nearest: [CampaignID: NoServeReason]) {
    let best = nearest.values.map(CampaignReasons.rank).max()
    for (campaign, reason) in nearest {
      campaigns[campaign, default: Missed()].reasons[reason, default: 0] += 1
      if CampaignReasons.rank(reason) == best { campaigns[campaign]?.nearest += 1 }
    }
  }

  /// Those that came nearest most often first.
  var ranked: [(campaign: CampaignID, missed: Missed)] {
    campaigns.sorted { ($1.value.nearest, $0.key) < ($0.value.nearest, $1.key) }.map { ($0.key, $0.value) }
  }
}

extension UnfilledReport {
  /// For people: at most so many campaigns.
  func text(campaigns limit: Int) -> String {
    let requests = unfilled.values.reduce(0, +)
    var lines = ["\(from.utcText) to \(to.utcText)", "\(TextTable.grouped(requests)) auctions left nobody with an ad"]
    var table = TextTable(["because", "requests"], rightAligned: [1])
    table.rows = unfilled.sorted { ($1.value, $0.key.rawValue) < ($0.value, $1.key.rawValue) }.map {
      [$0.key.meaning, TextTable.grouped($0.value)]
    }
    if !table.rows.isEmpty { lines += ["", String(table.text.dropLast())] }
    table = TextTable(["first rule against an ad", "ads, over all requests"], rightAligned: [1])
    table.rows = rankedAds.map { [$0.reason.meaning, TextTable.grouped($0.ads)] }
    if !table.rows.isEmpty { lines += ["", String(table.text.dropLast())] }
    table = TextTable(["campaign", "came nearest", "its best ad failed at"], rightAligned: [1])
    table.rows = ranked.prefix(limit).map { campaign, missed in
      [
        campaign.text, TextTable.grouped(missed.nearest),
        missed.ranked.map { "\($0.reason.meaning) (\(TextTable.grouped($0.requests)))" }.joined(separator: ", "),
      ]
    }
    if !table.rows.isEmpty {
      lines += ["", "By campaign, of \(TextTable.grouped(sampled)) sampled requests:", String(table.text.dropLast())]
    }
    return lines.joined(separator: "\n")
  }

  private var rankedAds: [(reason: NoServeReason, ads: Int64)] {
    ads.sorted { ($1.value, $0.key.rawValue) < ($0.value, $1.key.rawValue) }.map { ($0.key, $0.value) }
  }

  /// For programs.
  var json: JSONValue {
    [
      "from": .text(from.utcText), "to": .text(to.utcText), "oneIn": .integer(oneIn),
      "requests": .list(
        unfilled.sorted { $0.key.rawValue < $1.key.rawValue }.map {
          ["reason": .text($0.key.name), "requests": .integer($0.value)]
        }),
      "ads": .list(rankedAds.map { ["reason": .text($0.reason.name), "ads": .integer($0.ads)] }),
      "sampled": .integer(sampled),
      "campaigns": .list(
        ranked.map { campaign, missed in
          [
            "campaign": .text(campaign.text), "nearest": .integer(missed.nearest),
            "reasons": .list(
              missed.ranked.map { ["reason": .text($0.reason.name), "requests": .integer($0.requests)] }),
          ]
        }),
    ]
  }
}
