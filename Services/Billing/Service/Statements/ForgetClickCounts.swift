internal import Postgres

// Two statements: of both in one condition, all counts there are would be read.

/// Forgets the click rates of a campaign that the catalogue no longer has.
struct ForgetCampaignClickCounts: PostgresStatement {
  static let sql = """
    DELETE FROM billing.click_count AS c USING billing.partition AS p
    WHERE c.partition = p.partition AND c.campaign = $1
    """
  let campaign: String

  var parameters: [any PostgresValue] { [campaign] }
}

/// Forgets the click rate of an ad that the catalogue no longer has.
struct ForgetAdClickCounts: PostgresStatement {
  static let sql = """
    DELETE FROM billing.click_count AS c USING billing.partition AS p
    WHERE c.partition = p.partition AND c.ad = $1
    """
  let ad: String

  var parameters: [any PostgresValue] { [ad] }
}
