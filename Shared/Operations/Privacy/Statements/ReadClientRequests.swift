internal import AdCore
internal import JSON
internal import Postgres

/// The requests of a client in a range of serves, with what is stored of each that is the client's: no prices, and nothing of
/// other people's money.
struct ReadClientRequests: PostgresStatement {
  static let isPrepared = false
  static let sql = """
    SELECT jsonb_build_object('id', d.serve_id, 'requestId', d.request_id, 'arrival', d.arrival, 'app', d.app,
      'placement', d.placement, 'country', d.country, 'device', vocabulary.device_name(d.device),
      'segments', coalesce(to_jsonb(d.segments), '[]'),
      'edge', CASE WHEN d.edge_flags IS NOT NULL THEN jsonb_build_object(
        'agent', vocabulary.agent_class_name(d.edge_flags >> \(EdgeFlag.agentShift)),
        'isDataCentre', d.edge_flags & \(EdgeFlag.dataCentre.rawValue) <> 0,
        'isKnownBot', d.edge_flags & \(EdgeFlag.bot.rawValue) <> 0, 'network', lpad(to_hex(d.edge_network), 8, '0')) END,
      'outcome', vocabulary.decision_reason_name(d.reason),
      'advertiser', d.advertiser, 'campaign', d.campaign, 'ad', d.ad, 'isTest', d.is_test,
      'seenAt', i.event_time, 'taps', coalesce(k.taps, '[]'), 'conversions', coalesce(v.told, '[]'))::text
    FROM ad_selection.decisions($2, $3) d
    LEFT JOIN impression_tracking.impression_row i
      ON i.serve_id = d.serve_id AND i.partition = d.partition AND i.serve_id >= $2 AND i.serve_id < $3
    LEFT JOIN (
      SELECT serve_id, partition, jsonb_agg(event_time ORDER BY event_time) AS taps FROM click_tracking.click_row
      WHERE serve_id >= $2 AND serve_id < $3 GROUP BY serve_id, partition
    ) AS k ON k.serve_id = d.serve_id AND k.partition = d.partition
    LEFT JOIN (
      SELECT serve_id, partition, jsonb_agg(jsonb_build_object('app', app, 'what', vocabulary.conversion_kind_name(kind),
        'at', event_time) ORDER BY event_time) AS told FROM click_tracking.conversion
      WHERE serve_id >= $2 AND serve_id < $3 GROUP BY serve_id, partition
    ) AS v ON v.serve_id = d.serve_id AND v.partition = d.partition
    WHERE d.serve_id >= $2 AND d.serve_id < $3 AND d.client_hash = ANY ($1) ORDER BY d.serve_id
    """
  let hashes: [Int64]
  let range: ServeRange

  var parameters: [any PostgresValue] { [hashes] + range.parameters }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> JSONValue {
    let text: String = try row.decode(0)
    guard let value = try? JSONValue.parse(text.utf8) else {
      throw PostgresError.undecodable(column: 0, "it is no JSON")
    }
    return value
  }
}
