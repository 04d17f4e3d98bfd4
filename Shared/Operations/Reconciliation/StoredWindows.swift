package import AdCore
package import Postgres
internal import Runtime

/// The windows by which the services decided what is stored, as they noted them: whoever judges stored data goes by
/// these, and not by a configuration of its own.
package struct StoredWindows: Hashable, Sendable {
  /// Of each window the longest that any partition of any service had lately; the defaults where none is noted.
  var longest: Windows
  /// The shortest time that an impression may be late in any partition; nil while no tracker has noted one.
  var shortestLateArrivalMilliseconds: Int64?

  /// The windows by which a service decides now: what its partitions noted last. The defaults where none is noted.
  ///
  /// - Parameter service: as a reference names it, such as `click-tracking`.
  package static func current(
    service: String, in connection: PostgresConnection
  ) throws(PostgresError) -> Windows {
    let rows = try connection.run(ReadWindows()).filter { $0.service == service && $0.isInForce }
    return WindowSettings.windows(stored: Dictionary(rows.map { ($0.name, $0.longest) }, uniquingKeysWith: max))
  }

  static func read(in connection: PostgresConnection) throws(PostgresError) -> StoredWindows {
    let rows = try connection.run(ReadWindows())
    let late = rows.filter { $0.service == "impression-tracking" && $0.name == "HANDBILL_LATE_ARRIVAL" }
    return StoredWindows(
      longest: WindowSettings.windows(stored: Dictionary(rows.map { ($0.name, $0.longest) }, uniquingKeysWith: max)),
      shortestLateArrivalMilliseconds: late.map(\.shortest).min())
  }
}
