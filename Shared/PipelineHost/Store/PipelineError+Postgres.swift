internal import Pipeline
internal import Postgres

extension PipelineError {
  /// What a failure of the database means for the partition.
  init(_ error: PostgresError) {
    self =
      if error.isFence {
        .fenced
      } else if error.isUniqueViolation {
        .duplicateFound
      } else if error.isDataRefused {
        .dataRefused(error.description)
      } else if error.isMistake {
        .invariantBroken(error.description)
      } else {
        .databaseUnavailable(error.description)
      }
  }
}
