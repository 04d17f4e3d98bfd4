package import AdCore
internal import Postgres
internal import Runtime

/// What devices know to have happened: things that the broker has acknowledged, each once however often it was sent. As
/// a file it is the tally of docs/tally.md, which any client may write; a figure that it leaves out is not compared.
package struct DeviceAccount: Hashable, Sendable {
  /// Things of live ads, and of test ads (A2).
  package struct Kinds: Hashable, Sendable {
    package var live: Int64
    package var test: Int64

    package init(live: Int64, test: Int64) {
      self.live = live
      self.test = test
    }
  }

  /// What else happens in the lives of ads; each ad once, but for taps and stopped actions.
  package struct Lives: Hashable, Sendable {
    /// Taps on ads that were seen which neither earn nor are accidental (M4, M5).
    package var freeClicks: Kinds?
    /// Actions that the app refused or cancelled (D7, D9).
    package var stoppedActions: Kinds?
    package var rendered: Kinds?
    package var unloaded: Kinds?
    package var failed: Kinds?
    /// Ads that were never on screen (D3), that expired before (D5), that the app hid too soon (D12).
    package var neverShown: Kinds?
    package var expiredUnseen: Kinds?
    package var shownBriefly: Kinds?
    /// What advertised apps told that counts once (M8), whether or not the click counts.
    package var conversions: Int64?
    /// Errors without an ad, each once for a request (M6).
    package var failuresWithoutAd: Int64?

    package init(
      freeClicks: Kinds? = nil, stoppedActions: Kinds? = nil, rendered: Kinds? = nil, unloaded: Kinds? = nil,
      failed: Kinds? = nil, neverShown: Kinds? = nil, expiredUnseen: Kinds? = nil, shownBriefly: Kinds? = nil,
      conversions: Int64? = nil, failuresWithoutAd: Int64? = nil
    ) {
      self.neverShown = neverShown
      self.expiredUnseen = expiredUnseen
      self.shownBriefly = shownBriefly
      self.freeClicks = freeClicks
      self.stoppedActions = stoppedActions
      self.rendered = rendered
      self.unloaded = unloaded
      self.failed = failed
      self.conversions = conversions
      self.failuresWithoutAd = failuresWithoutAd
    }
  }

  /// The form of the file.
  package static let version: Int64 = 1
  /// A tally has a dozen figures: a longer file is none.
  package static let bytesMaximum = 1 << 20

  /// Every id of the run was made at this moment or later: what is older is not counted.
  package var startedAt: Timestamp
  package var requests: Int64?
  package var impressions: Kinds?
  /// Taps that earn (M7).
  package var clicks: Kinds?
  /// Taps whose action was over within 2 s without leaving (M7).
  package var accidentalClicks: Kinds?
  package var lives: Lives
  /// Records that must be rejected: events with an altered token, and what cannot be understood (I1).
  package var rejectedRecords: Int64?

  package init(
    startedAt: Timestamp, requests: Int64? = nil, impressions: Kinds? = nil, clicks: Kinds? = nil,
    accidentalClicks: Kinds? = nil, lives: Lives = Lives(), rejectedRecords: Int64? = nil
  ) {
    self.startedAt = startedAt
    self.requests = requests
    self.impressions = impressions
    self.clicks = clicks
    self.accidentalClicks = accidentalClicks
    self.lives = lives
    self.rejectedRecords = rejectedRecords
  }

  /// The devices' numbers beside those of the tables.
  func checks(in connection: PostgresConnection) throws(PostgresError) -> [ReconciliationCheck] {
    let first = UUIDv7(timestamp: startedAt, randomHigh: 0, randomLow: 0)
    let tables = try tableNumbers(first, connection)
    let pairs: [(String, Int64?)] = [
      ("requests", requests), ("live impressions", impressions?.live), ("test impressions", impressions?.test),
      ("live taps that earn", clicks?.live), ("test taps that earn", clicks?.test),
      ("live accidental taps", accidentalClicks?.live), ("test accidental taps", accidentalClicks?.test),
      ("live taps that are free otherwise", lives.freeClicks?.live),
      ("test taps that are free otherwise", lives.freeClicks?.test),
      ("live actions that apps stopped", lives.stoppedActions?.live),
      ("test actions that apps stopped", lives.stoppedActions?.test),
      ("live ads drawn", lives.rendered?.live), ("test ads drawn", lives.rendered?.test),
      ("live ads unloaded", lives.unloaded?.live), ("test ads unloaded", lives.unloaded?.test),
      ("live ads that failed", lives.failed?.live), ("test ads that failed", lives.failed?.test),
      ("live ads never shown", lives.neverShown?.live), ("test ads never shown", lives.neverShown?.test),
      ("live ads expired unseen", lives.expiredUnseen?.live), ("test ads expired unseen", lives.expiredUnseen?.test),
      ("live ads shown briefly", lives.shownBriefly?.live), ("test ads shown briefly", lives.shownBriefly?.test),
      ("conversions", lives.conversions), ("errors without an ad", lives.failuresWithoutAd),
      ("records that must be rejected", rejectedRecords),
    ]
    return zip(pairs, tables).compactMap { pair, stored in
      guard let told = pair.1 else { return nil }
      return ReconciliationCheck(
        rule: "devices", name: "devices' own tally: \(pair.0)", compared: max(told, stored),
        differences: abs(told - stored),
        examples: told == stored ? [] : ["the devices say \(told), the tables \(stored)"])
    }
  }

  /// A tap that earns may come beyond its client's limit: it is decided all the same, and its verdict says so. A request
  /// whose record was rejected is decided too, and stands among the bad records.
  private func tableNumbers(
    _ first: UUIDv7, _ connection: PostgresConnection
  ) throws(PostgresError) -> [Int64] {
    let rejected = RejectionReason.allCases.map(Outcome.rejected).numbers
    let sql = """
      WITH clicks AS (
        SELECT verdict, is_test, count(*) AS rows FROM click_tracking.click WHERE serve_id >= $1 GROUP BY 1, 2
      ), stopped AS (
        SELECT is_test, count(*) AS rows FROM click_tracking.stopped_action WHERE serve_id >= $1 GROUP BY 1
      ), deliveries AS (
        SELECT kind, is_test, count(*) AS rows
        FROM impression_tracking.stored_deliveries($1, 'ffffffff-ffff-ffff-ffff-ffffffffffff') GROUP BY 1, 2
      ), impressions AS (
        SELECT is_test, count(*) AS rows FROM impression_tracking.impression WHERE serve_id >= $1 GROUP BY 1
      ), rejections AS (
        SELECT topic, arrival FROM ad_selection.rejected
        UNION ALL SELECT topic, arrival FROM impression_tracking.rejected
        UNION ALL SELECT topic, arrival FROM click_tracking.rejected
      ), floods AS (
        SELECT last_arrival, rejected_not_kept AS records FROM ad_selection.batch
        UNION ALL SELECT last_arrival, rejected_not_kept FROM impression_tracking.batch
        UNION ALL SELECT last_arrival, rejected_not_kept FROM click_tracking.batch
      )
      SELECT ARRAY[
        (SELECT count(DISTINCT request_id) FROM ad_selection.requests_since($1) WHERE outcome NOT IN (\(rejected))),
        (SELECT coalesce(sum(rows), 0) FROM impressions WHERE NOT is_test),
        (SELECT coalesce(sum(rows), 0) FROM impressions WHERE is_test),
        (SELECT coalesce(sum(rows), 0) FROM clicks WHERE verdict IN (\(ClickVerdict.meant.numbers)) AND NOT is_test),
        (SELECT coalesce(sum(rows), 0) FROM clicks WHERE verdict IN (\(ClickVerdict.meant.numbers)) AND is_test),
        (SELECT coalesce(sum(rows), 0) FROM clicks WHERE verdict = \(ClickVerdict.accidental.number) AND NOT is_test),
        (SELECT coalesce(sum(rows), 0) FROM clicks WHERE verdict = \(ClickVerdict.accidental.number) AND is_test),
        (SELECT coalesce(sum(rows), 0) FROM clicks WHERE verdict IN (\(ClickVerdict.otherwiseFree.numbers)) AND NOT is_test),
        (SELECT coalesce(sum(rows), 0) FROM clicks WHERE verdict IN (\(ClickVerdict.otherwiseFree.numbers)) AND is_test),
        (SELECT coalesce(sum(rows), 0) FROM stopped WHERE NOT is_test),
        (SELECT coalesce(sum(rows), 0) FROM stopped WHERE is_test),
        \(Self.deliveries(.rendered)), \(Self.deliveries(.unloaded)), \(Self.deliveries(.failed)),
        \(Self.deliveries(.neverShown)), \(Self.deliveries(.expiredUnseen)), \(Self.deliveries(.shownBriefly)),
        (SELECT count(*) FROM click_tracking.conversion WHERE serve_id >= $1),
        (SELECT count(*) FROM impression_tracking.failure WHERE request_id >= $1),
        (SELECT count(*) FROM rejections WHERE arrival >= $2 AND topic IN ('ads.requests', 'ads.impressions', 'ads.clicks'))
          + (SELECT coalesce(sum(records), 0) FROM floods WHERE last_arrival >= $2 AND records > 0)
      ]::bigint[]
      """
    return try connection.query(sql, [first, startedAt]).first?.decode(0) ?? []
  }

  /// Live ones, and those of test ads.
  private static func deliveries(_ kind: RecordedKind) -> String {
    ["NOT is_test", "is_test"].map {
      "(SELECT coalesce(sum(rows), 0) FROM deliveries WHERE kind = \(kind.number) AND \($0))"
    }.joined(separator: ", ")
  }
}
