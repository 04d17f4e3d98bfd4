internal import AdCore
internal import AdEvents
internal import AdSelectionCore
internal import Pipeline
internal import Postgres
internal import Runtime

/// Decisions, as rows.
enum DecisionRows {
  static let columns = TableColumns(
    "ad_selection.decision",
    TermsColumns.names + [
      "batch_number", "request_id", "arrival", "deadline", "outcome", "reason", "error", "detail",
      "lifetime_milliseconds", "image_sizes", "image_urls", "action", "destination", "reserved", "expected_value",
      "candidates", "outbid", "excluded_reasons", "excluded_counts",
    ])

  static func rows(_ batch: CommitBatch<AdSelection>) -> TableRows {
    let rows = TableRows(columns, capacity: batch.effects.decisions.count * 768)
    let buffer = rows.buffer
    for decided in batch.effects.decisions {
      rows.begin()
      if let serve = decided.serve {
        TermsColumns.append(serve.terms, to: buffer)
      } else {
        appendRequest(of: decided, to: buffer)
      }
      buffer.append(int64: batch.number)
      buffer.append(uuidHigh: decided.asked.requestID.high, low: decided.asked.requestID.low)
      buffer.append(timestampMicroseconds: decided.asked.arrival.milliseconds &* 1_000)
      buffer.append(timestampMicroseconds: decided.asked.deadline.milliseconds &* 1_000)
      buffer.append(int16: Int16(decided.outcome.rawValue))
      buffer.append(int16: Int16(decided.decision.reason.rawValue))
      appendAnswer(of: decided, to: buffer)
      appendExplanation(decided.decision.explanation, to: buffer)
    }
    return rows
  }

  /// The columns of the terms, as far as a request without an ad has them. What a request with a mistake does not tell is
  /// empty, and its device 0.
  private static func appendRequest(of decided: DecidedRequest, to buffer: CopyBuffer) {
    let asked = decided.asked
    buffer.append(uuidHigh: decided.id.high, low: decided.id.low)
    buffer.append(int32: asked.partition)
    buffer.null()  // expires_at
    buffer.append(text: asked.app.text)
    for _ in 0..<4 { buffer.null() }  // developer, advertiser, campaign, ad
    buffer.append(text: asked.placement?.text ?? "")
    buffer.append(text: asked.country?.description ?? "")
    buffer.append(int16: Int16(asked.device?.rawValue ?? 0))
    if let size = decided.decision.size { buffer.append(int16: Int16(size.rawValue)) } else { buffer.null() }
    for _ in 0..<6 { buffer.null() }  // prices, currency, share, allotment, budget day
    buffer.append(int64: Int64(bitPattern: asked.clientHash))
    buffer.append(bool: decided.decision.isTest)
  }

  /// From `error` to `expected_value`.
  private static func appendAnswer(of decided: DecidedRequest, to buffer: CopyBuffer) {
    guard let serve = decided.serve else {
      if case .error(let error, let detail)? = decided.decision.answer {
        buffer.append(int16: Int16(error.rawValue))
        buffer.append(text: detail)
      } else {
        buffer.append(int16: Int16(AdError.unknown.rawValue))
        buffer.null()
      }
      for _ in 0..<7 { buffer.null() }
      return
    }
    buffer.null()
    buffer.null()
    buffer.append(int64: serve.lifetimeMilliseconds)
    buffer.append(int16s: serve.images.map { Int16($0.size.rawValue) })
    buffer.append(texts: serve.images.map(\.url))
    buffer.append(int16: Int16(serve.action.kind.rawValue))
    buffer.append(text: serve.action.destination)
    if let reservation = serve.reservation { buffer.append(int64: reservation.amount.value) } else { buffer.null() }
    buffer.append(numeric: serve.expectedValue)
  }

  private static func appendExplanation(_ explanation: Explanation, to buffer: CopyBuffer) {
    let excluded = explanation.excluded
    buffer.append(int32: Int32(clamping: explanation.candidates))
    buffer.append(int32: Int32(clamping: explanation.outbid))
    buffer.append(int16s: excluded.map { Int16($0.reason.rawValue) })
    buffer.append(int32s: excluded.map { Int32(clamping: $0.candidates) })
  }
}
