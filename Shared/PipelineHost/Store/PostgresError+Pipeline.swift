internal import Postgres

extension PostgresError {
  /// The SQLSTATE that `hold_fence` gives to a fence that did not hold.
  var isFence: Bool { sqlState == "HB001" }

  /// A value that this program never writes, a call that it may not make, or what our own functions in the database
  /// refuse: rows that must be there and are not, a journal that does not balance.
  var isMistake: Bool {
    [.undecodable, .misuse].contains(kind) || sqlState?.hasPrefix("HB") == true
  }
}
