internal import AdCore
package import Pipeline
package import Postgres
internal import Runtime

/// The columns of a service's counts: of its table of minutes, where a row is what one kind of event adds to a minute, and of
/// its table of packed minutes, where a row has many of them in arrays.
package struct CountColumns: Sendable {
  package let table: TableColumns
  /// As SQL lists them.
  package let list: String

  /// - Parameters:
  ///   - schema: the service's.
  ///   - kind: the last part of the tables' names: `count`, or `revenue`.
  ///   - columns: after partition and minute, with the types of ``PostgresType``: what is alike in many first, so that
  ///     arrays of them take little room.
  package init(_ schema: String, kind: String = "count", _ columns: KeyValuePairs<String, UInt32>) {
    let names = ["partition", "minute"] + columns.map(\.key)
    table = TableColumns(
      "\(schema).minute_\(kind)", names,
      packed: PackedColumns("\(schema).packed_\(kind)", names, elementTypes: columns.map(\.value)))
    list = names.joined(separator: ", ")
  }
}

extension CountColumns {
  /// Of a tracker's events, by minute and ad (``AdMinute``), by their kind, and by one thing more.
  package init(eventsOf schema: String, detail: String) {
    self.init(
      schema,
      [
        "is_test": PostgresType.bool, "app": PostgresType.text, "campaign": PostgresType.text,
        "ad": PostgresType.text, "placement": PostgresType.text, "country": PostgresType.text,
        "size": PostgresType.int2, "device": PostgresType.int2, "kind": PostgresType.int2, detail: PostgresType.int2,
        "events": PostgresType.int8,
      ])
  }

  /// A tracker's counts, as rows.
  ///
  /// - Parameter columns: of a key: what it counts, the number of the kind, and that of the one thing more.
  package func rows<Key>(
    _ counts: [Key: Int64], partition: Int32, columns: (Key) -> (event: AdMinute, kind: Int16, detail: Int16)
  ) -> TableRows {
    let rows = TableRows(table, capacity: counts.count * 192)
    let buffer = rows.buffer
    for (key, events) in counts {
      let (event, kind, detail) = columns(key)
      rows.begin()
      buffer.append(int32: partition)
      buffer.append(timestampMicroseconds: event.minute &* 60_000_000)
      buffer.append(bool: event.isTest)
      buffer.append(event.app)
      if let served = event.served {
        buffer.append(served.campaign)
        buffer.append(served.ad)
        buffer.append(served.placement)
        buffer.append(served.country)
        buffer.append(served.size)
        buffer.append(served.device)
      } else {
        for _ in 0..<4 { buffer.append(text: "") }
        for _ in 0..<2 { buffer.append(int16: 0) }
      }
      buffer.append(int16: kind)
      buffer.append(int16: detail)
      buffer.append(int64: events)
    }
    return rows
  }
}
