internal import AdCore
internal import AdSelectionCore
internal import Pipeline
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Paid and house ads that a batch served, as rows of many: what each alone says is a fourth of what a row of its own costs.
/// Found by their serve ids and request ids as `15_decisions.sql` says.
enum DecisionPacks {
  /// So many lie in one row: fewer cost as much as rows of their own, and two of the most lie in a page, compressed.
  private static let sizes = 16...48
  /// How far from the decision the time lies that a packed request's id carries: less than this, in milliseconds.
  static let requestMilliseconds: Int64 = 60_000
  static let columns = TableColumns(
    "ad_selection.decision_pack",
    [
      "serve_id", "last_serve_id", "batch_number", "rules", "catalog_change", "partition", "outcome", "serve_ids",
      "request_ids", "client_hashes", "arrivals", "deadlines_ms", "allotments", "terms", "creatives", "reserved",
      "budget_days", "candidates", "outbid", "batch_indexes", "required_sizes", "devices", "sizes", "reasons",
      "paid_ads",
      "are_interstitial", "edge_flags", "edge_networks", "countries", "placements", "expected_values",
      "excluded_reasons",
      "excluded_counts",
    ])

  /// A decision that can be packed.
  struct Packable {
    let decided: DecidedRequest
    let serve: Serve
    let inputs: AuctionInputs
    let index: Int16

    /// Nil for what needs a column that packs do not have.
    init?(_ decided: DecidedRequest) {
      let distance = decided.asked.requestID.timestamp.milliseconds(since: decided.id.timestamp)
      guard let serve = decided.serve, let inputs = decided.decision.inputs, decided.decision.reason.isLiveFill,
        !decided.decision.isTest, inputs.segments.isEmpty, let index = Int16(exactly: decided.index),
        distance.magnitude < requestMilliseconds
      else { return nil }
      self.decided = decided
      self.serve = serve
      self.inputs = inputs
      self.index = index
    }

    /// What those of one row have in common.
    fileprivate var common: Common {
      Common(
        second: decided.id.timestamp.milliseconds / 1_000, catalogChange: inputs.catalogChange, outcome: decided.outcome
      )
    }
  }

  fileprivate struct Common: Hashable {
    let second: Int64
    let catalogChange: Int64?
    let outcome: Outcome
  }

  /// What of a batch lies in packs, and what in rows of its own.
  static func split(_ decisions: [DecidedRequest]) -> (packs: [ArraySlice<Packable>], others: [DecidedRequest]) {
    RowPacks.split(decisions, sizes: sizes, as: Packable.init, by: \.common)
  }

  /// - Parameter rules: the number of those that the auctions followed.
  static func rows(
    _ packs: [ArraySlice<Packable>], batchNumber: Int64, rules: Int64, terms: TermsBook
  ) -> TableRows {
    let rows = TableRows(columns, capacity: packs.reduce(0) { $0 + $1.count } * 384)
    for pack in packs {
      let ids = pack.map(\.decided.id)
      guard let first = pack.first, let lowest = ids.min(), let highest = ids.max() else { continue }
      rows.begin()
      rows.buffer.append(lowest)
      rows.buffer.append(highest)
      rows.buffer.append(batchNumber)
      rows.buffer.append(rules)
      rows.buffer.append(first.inputs.catalogChange)
      rows.buffer.append(first.serve.terms.partition)
      rows.buffer.append(first.decided.outcome)
      rows.buffer.append(list: ids)
      appendRequests(pack, to: rows.buffer)
      appendSales(pack, terms: terms, to: rows.buffer)
      appendAuctions(pack, to: rows.buffer)
    }
    return rows
  }

  /// From `request_ids` to `deadlines_ms`.
  private static func appendRequests(_ pack: ArraySlice<Packable>, to buffer: CopyBuffer) {
    buffer.append(list: pack.map(\.decided.asked.requestID))
    buffer.append(list: pack.map(\.serve.terms.clientHash))
    buffer.append(list: pack.map(\.decided.asked.arrival))
    buffer.append(
      list: pack.map { Int32(clamping: $0.decided.asked.deadline.milliseconds(since: $0.decided.asked.arrival)) })
  }

  /// From `allotments` to `budget_days`.
  private static func appendSales(_ pack: ArraySlice<Packable>, terms: TermsBook, to buffer: CopyBuffer) {
    buffer.append(list: pack.map(\.serve.terms.allotment))
    buffer.append(list: pack.map { terms.name(of: $0.serve.terms) })
    buffer.append(list: pack.map { terms.name(of: $0.serve.creative, servedAs: $0.serve.terms.serveID) })
    buffer.append(list: pack.map { $0.serve.reservation?.amount })
    buffer.append(list: pack.map(\.serve.terms.budgetDay))
  }

  /// From `candidates` on.
  private static func appendAuctions(_ pack: ArraySlice<Packable>, to buffer: CopyBuffer) {
    let explanations = pack.map(\.decided.decision.explanation)
    buffer.append(list: explanations.map { Int32(clamping: $0.candidates) })
    buffer.append(list: explanations.map { Int32(clamping: $0.outbid) })
    buffer.append(list: pack.map(\.index))
    buffer.append(list: pack.map { SizeBits($0.inputs.requiredSizes).bits })
    buffer.append(list: pack.map(\.serve.terms.device))
    buffer.append(list: pack.map(\.serve.terms.size))
    buffer.append(list: pack.map(\.decided.decision.reason))
    buffer.append(list: pack.map(\.inputs.paidAds))
    buffer.append(list: pack.map(\.inputs.isInterstitial))
    buffer.append(list: pack.map { $0.decided.asked.sight?.storedFlags })
    buffer.append(list: pack.map { $0.decided.asked.sight?.storedNetwork })
    buffer.append(list: pack.map(\.serve.terms.country))
    buffer.append(list: pack.map(\.serve.terms.placement))
    buffer.append(list: pack.map(\.serve.expectedValue))
    let excluded = explanations.map(\.excluded)
    buffer.append(list: excluded.map { list($0.map { Int($0.reason.number) }) })
    buffer.append(list: excluded.map { list($0.map(\.candidates)) })
  }

  /// As the text of an array; nil for none.
  private static func list(_ numbers: [Int]) -> String? {
    numbers.isEmpty ? nil : "{" + numbers.map(String.init).joined(separator: ",") + "}"
  }
}
