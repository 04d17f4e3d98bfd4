internal import AdCore
internal import AdEvents
internal import AdSelectionCore
internal import Pipeline
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Decisions, as rows of their own.
enum DecisionRows {
  static let columns = TableColumns(
    "ad_selection.decision_row",
    ServeColumns.names + [
      "app", "batch_number", "request_id", "arrival", "deadline", "outcome", "reason", "error", "detail", "creative",
      "reserved", "expected_value", "candidates", "outbid", "excluded_reasons", "excluded_counts",
      "batch_index", "rules", "catalog_change", "paid_ads", "required_sizes", "segments", "is_interstitial",
      "edge_flags", "edge_network",
    ])

  /// - Parameter rules: the number of those that the auctions followed.
  static func rows(
    _ decisions: [DecidedRequest], batchNumber: Int64, rules: Int64, terms: TermsBook
  ) -> TableRows {
    let rows = TableRows(columns, capacity: decisions.count * 320)
    let buffer = rows.buffer
    for decided in decisions {
      rows.begin()
      if let serve = decided.serve {
        ServeColumns.append(serve.terms, terms: terms.name(of: serve.terms), to: buffer)
        buffer.null()  // app: the terms tell it
      } else {
        appendRequest(of: decided, to: buffer)
      }
      buffer.append(batchNumber)
      buffer.append(decided.asked.requestID)
      buffer.append(decided.asked.arrival)
      buffer.append(decided.asked.deadline)
      buffer.append(decided.outcome)
      buffer.append(decided.decision.reason)
      appendAnswer(of: decided, terms: terms, to: buffer)
      appendExplanation(decided.decision.explanation, to: buffer)
      buffer.append(decided.index)
      appendInputs(decided.decision.inputs, rules: rules, to: buffer)
      buffer.append(decided.asked.sight?.storedFlags)
      buffer.append(decided.asked.sight?.storedNetwork)
    }
    return rows
  }

  /// The columns of a serve, as far as a request without an ad has them, and its app. What a request with a mistake does
  /// not tell is empty, and its device 0.
  private static func appendRequest(of decided: DecidedRequest, to buffer: CopyBuffer) {
    let asked = decided.asked
    buffer.append(decided.id)
    buffer.append(asked.partition)
    buffer.null()  // allotment
    buffer.append(asked.clientHash)
    for _ in 0..<2 { buffer.null() }  // terms, budget day
    buffer.append(asked.device?.number ?? 0)
    buffer.append(decided.decision.size)
    buffer.append(decided.decision.isTest)
    buffer.append(asked.country?.description ?? "")
    buffer.append(asked.placement?.text ?? "")
    buffer.append(asked.app)
  }

  /// From `error` to `expected_value`.
  private static func appendAnswer(of decided: DecidedRequest, terms: TermsBook, to buffer: CopyBuffer) {
    guard let serve = decided.serve else {
      if case .error(let error, let detail)? = decided.decision.answer {
        buffer.append(error)
        buffer.append(detail)
      } else {
        buffer.append(AdError.unknown)
        buffer.null()
      }
      for _ in 0..<3 { buffer.null() }
      return
    }
    buffer.null()
    buffer.null()
    buffer.append(int64: terms.name(of: serve.creative, servedAs: serve.terms.serveID))
    buffer.append(serve.reservation?.amount)
    buffer.append(serve.expectedValue)
  }

  /// From `rules` on: null where there was no auction.
  private static func appendInputs(_ inputs: AuctionInputs?, rules: Int64, to buffer: CopyBuffer) {
    guard let inputs else {
      for _ in 0..<6 { buffer.null() }
      return
    }
    buffer.append(rules)
    buffer.append(inputs.catalogChange)
    buffer.append(inputs.paidAds)
    buffer.append(SizeBits(inputs.requiredSizes).bits)
    // Most requests name none, which takes no room.
    if inputs.segments.isEmpty { buffer.null() } else { buffer.append(list: inputs.segments) }
    buffer.append(inputs.isInterstitial)
  }

  private static func appendExplanation(_ explanation: Explanation, to buffer: CopyBuffer) {
    let excluded = explanation.excluded
    buffer.append(Int32(clamping: explanation.candidates))
    buffer.append(Int32(clamping: explanation.outbid))
    guard !excluded.isEmpty else {
      for _ in 0..<2 { buffer.null() }
      return
    }
    buffer.append(list: excluded.map(\.reason.number))
    buffer.append(list: excluded.map { Int32(clamping: $0.candidates) })
  }
}

extension EdgeSight {
  /// ``flags`` as a column holds them.
  var storedFlags: Int16 { Int16(flags) }
  /// The bits of ``network`` as a column holds them.
  var storedNetwork: Int32? { network.map { Int32(bitPattern: $0) } }
}

extension Serve {
  /// What it shows and does.
  var creative: FrozenCreative {
    FrozenCreative(
      lifetimeMilliseconds: lifetimeMilliseconds, action: action, sizes: images.map(\.size), urls: images.map(\.url))
  }
}
