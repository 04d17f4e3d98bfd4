internal import Pipeline
internal import Postgres

extension PipelineError {
  /// What a failure of the database means for the partition. Whatever is neither an absence nor the way the database is
  /// set up is a mistake of ours: a statement that it does not understand, a value that this program never writes, a
  /// row that it refuses where no record can be left out, what our own functions in the database find broken.
  init(_ error: PostgresError) {
    self =
      if error.isFence {
        .fenced
      } else if error.isMisconfigured {
        .databaseMisconfigured(error.description)
      } else if error.isUnavailable || error.isRetriable {
        .databaseUnavailable(error.description)
      } else {
        .invariantBroken(error.description)
      }
  }
}

extension RowRefusal {
  /// Nil for a failure that is not about the rows.
  init?(_ error: PostgresError) {
    if error.isUniqueViolation {
      self = .duplicate
    } else if error.isDataRefused {
      self = .refused(error.description)
    } else {
      return nil
    }
  }
}

extension PostgresError {
  /// The SQLSTATE that `hold_fence` gives to a fence that did not hold.
  fileprivate var isFence: Bool { sqlState == "HB001" }
}
