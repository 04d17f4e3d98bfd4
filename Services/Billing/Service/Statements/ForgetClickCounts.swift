internal import Postgres

/// Forgets the click rates of a campaign or an ad that the catalogue no longer has.
struct ForgetClickCounts: PostgresStatement {
  static let sql = """
    DELETE FROM billing.click_count AS c USING billing.partition AS p
    WHERE c.partition = p.partition AND (c.campaign = $1 OR c.ad = $2)
    """
  let campaign: String?
  let ad: String?

  var parameters: [any PostgresValue] { [campaign, ad] }
}
