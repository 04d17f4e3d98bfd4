import Postgres
import Testing

@testable import Migrations

@Suite("The migration of networks that the edge saw")
struct EdgeNetworkMigrationTests {
  @Test("decisions that are stored say the same afterwards, and of no network, in rows of their own and in packs")
  func stored() async throws {
    let connection = try await TestServer.connect()
    let all = try Migration.all()
    _ = try MigrationRunner(Array(all.prefix { $0.name != "edge_networks" })).up(connection)
    let days = ["decision_row", "decision_pack"].map {
      """
      CREATE TABLE ad_selection.\($0)_20260701 PARTITION OF ad_selection.\($0)
        FOR VALUES FROM ('019f1af9-b400-0000-0000-000000000000') TO ('019f2020-1000-0000-0000-000000000000');
      """
    }
    try connection.executeScript(
      days.joined() + """
        INSERT INTO ad_selection.decision_row (serve_id, request_id, batch_number, client_hash, arrival, deadline, partition,
          candidates, outbid, device, size, outcome, reason, is_test, country, placement, app, error, edge_flags)
        VALUES ('019f1af9-b400-7000-8000-000000000001', '019f1af9-b400-7000-8000-000000000002', 1, 5, '2026-07-01Z',
          '2026-07-01Z', 3, 0, 0, 1, 1, 1, 33, false, 'DE', 'home', 'app', 3, 17);
        INSERT INTO ad_selection.decision_pack
        SELECT ids[1], ids[2], 1, 7, 9, 3, 1, ids, ids, '{5,6}', ARRAY[now(), now()], '{1,2}', '{1,2}', '{1,2}', '{1,2}',
          '{1,2}', '{1,2}', '{1,2}', '{1,2}', '{1,2}', '{1,2}', '{1,2}', '{1,2}', '{1,1}', '{1,1}', '{t,f}', '{17,NULL}',
          '{DE,US}', '{a,b}', '{1,2}', '{NULL,NULL}', '{NULL,NULL}'
        FROM (SELECT ARRAY['019f1af9-b400-7000-8000-000000000003', '019f1af9-b400-7000-8000-000000000004']::uuid[]) AS i (ids);
        """)
    _ = try MigrationRunner().up(connection)
    let found = try connection.query(
      "SELECT client_hash, edge_flags, edge_network FROM ad_selection.decision WHERE partition = 3 ORDER BY client_hash, country"
    )
    #expect(try found.map { try $0.decode(0, Int64.self) } == [5, 5, 6])
    #expect(try found.map { try $0.decode(1, Int16?.self) } == [17, 17, nil])
    #expect(try found.map { try $0.decode(2, Int32?.self) } == [nil, nil, nil])
    // A list of another length, and a network of what did not come by the edge, are refused, in the days' own tables, too.
    for wrong in [
      "UPDATE ad_selection.decision_pack_20260701 SET edge_networks = '{1}'",
      "UPDATE ad_selection.decision_row_20260701 SET edge_network = 0",
      "UPDATE ad_selection.decision_row_20260701 SET edge_flags = NULL, edge_network = 1",
    ] { #expect(throws: PostgresError.self, "\(wrong)") { try connection.executeScript(wrong) } }
  }
}
