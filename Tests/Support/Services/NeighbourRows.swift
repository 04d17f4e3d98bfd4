package import Postgres

/// Rows beside those that a test's partition wrote: of another partition whose batches have the same numbers, and of other
/// batches of its own. What is read of certain batches must not grow with them.
package enum NeighbourRows {
  /// The id as it would be so many milliseconds later.
  private static let function = """
    CREATE OR REPLACE FUNCTION public.moved(id uuid, ms bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $function$
      SELECT (lpad(to_hex(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint + ms), 12, '0')
        || substr(replace(id::text, '-', ''), 13))::uuid
    $function$
    """

  /// Copies each row, or pack of rows, of a table so many times, an hour and more before it or after it: half of the copies
  /// into partition 3, the others into batches of the same partition that nobody asks for.
  package static func add(_ copies: Int, to table: String, _ connection: PostgresConnection) throws {
    try connection.executeScript(
      """
      SET statement_timeout = 0;
      \(function);
      INSERT INTO \(table)
      SELECT copy.* FROM \(table) AS own CROSS JOIN generate_series(1, \(copies)) AS n
        CROSS JOIN LATERAL (SELECT (CASE n / 2 % 2 WHEN 0 THEN 1 ELSE -1 END) * (3600000 + n * 1500::bigint) AS ms) AS away
        CROSS JOIN LATERAL (SELECT to_jsonb(own) AS columns) AS texts
        CROSS JOIN LATERAL jsonb_populate_record(own, jsonb_build_object(
          'partition', CASE n % 2 WHEN 0 THEN 3 ELSE own.partition END,
          'batch_number', CASE n % 2 WHEN 0 THEN 0 ELSE 1000 END + own.batch_number,
          'serve_id', public.moved(own.serve_id, ms),
          'last_serve_id', public.moved((columns->>'last_serve_id')::uuid, ms),
          'serve_ids', (
            SELECT jsonb_agg(public.moved(id::uuid, ms) ORDER BY place)
            FROM jsonb_array_elements_text(columns->'serve_ids') WITH ORDINALITY AS ids (id, place)))) AS copy;
      ANALYZE \(table);
      RESET statement_timeout;
      """)
  }
}
