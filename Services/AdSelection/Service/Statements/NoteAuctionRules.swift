internal import AdCore
internal import AdSelectionCore
internal import Postgres
internal import Runtime

/// Keeps what the number of auctions' rules stands for.
struct NoteAuctionRules: PostgresStatement {
  static let sql = """
    INSERT INTO ad_selection.auction_rules (rules, seed, prior_clicks, prior_impressions) VALUES ($1, $2, $3, $4)
    ON CONFLICT (rules) DO NOTHING
    """
  let rules: AuctionRules

  var parameters: [any PostgresValue] {
    [rules.number, Int64(bitPattern: rules.seed), rules.priorClicks, rules.priorImpressions]
  }
}
