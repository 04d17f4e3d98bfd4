package import AdCore
package import Postgres

/// What a row holds of a serve itself, beside the name of its terms (``FrozenTerms/name``): the same names and types in
/// every table that holds them.
package enum ServeColumns {
  package static let names = [
    "serve_id", "partition", "allotment", "client_hash", "terms", "budget_day", "device", "size", "is_test", "country",
    "placement",
  ]

  /// Appends the values in the order of ``names``.
  package static func append(_ serve: ServedTerms, terms name: Int64, to buffer: CopyBuffer) {
    buffer.append(serve.serveID)
    buffer.append(serve.partition)
    buffer.append(serve.allotment)
    buffer.append(serve.clientHash)
    buffer.append(int64: name)
    buffer.append(serve.budgetDay)
    buffer.append(serve.device)
    buffer.append(serve.size)
    buffer.append(serve.isTest)
    buffer.append(serve.country)
    buffer.append(serve.placement)
  }
}
