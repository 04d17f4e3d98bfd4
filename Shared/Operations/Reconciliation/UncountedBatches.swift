/// Batches whose rows no count has yet.
package enum UncountedBatches {
  /// The service, as a row, where it has batches with rows whose counts are not written.
  ///
  /// - Parameter begun: which batches; all where nothing is said.
  package static func service(_ service: String, begun: String = "true") -> String {
    """
    SELECT '\(service)' AS service WHERE EXISTS (
      SELECT FROM \(service).partition p LEFT JOIN \(service).counted c USING (partition)
      CROSS JOIN LATERAL (
        SELECT FROM \(service).batch WHERE partition = p.partition AND batch_number > coalesce(c.batch_number, -1)
          AND first_serve_id IS NOT NULL AND \(begun) LIMIT 1
      ) AS uncounted)
    """
  }
}
