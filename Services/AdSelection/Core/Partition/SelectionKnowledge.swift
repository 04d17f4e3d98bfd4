package import AdCore

/// What a batch asks the database before it is decided: the rows of the decisions that its requests may be repeats of.
package struct SelectionQuery: Hashable, Sendable {
  package var ids: Set<ServeID> = []

  package init() {}
}

/// What the rows tell. One that is not there was never stored.
package struct SelectionKnowledge: Sendable {
  package var decisions: [ServeID: EarlierDecision]

  package init(_ decisions: [ServeID: EarlierDecision]) { self.decisions = decisions }
}

/// Which request was decided, and what it was answered with: what the same one again is answered with.
package struct EarlierDecision: Hashable, Sendable {
  package var key: RequestKey
  package var answer: Answer

  package init(key: RequestKey, answer: Answer) {
    self.key = key
    self.answer = answer
  }

  /// What the row of `decided` tells; nil for one without an answer, which has no row.
  package init?(_ decided: DecidedRequest) {
    guard let answer = decided.decision.answer else { return nil }
    let asked = decided.asked
    self.init(
      key: RequestKey(requestID: asked.requestID, client: asked.clientHash, isTest: decided.decision.isTest),
      answer: answer)
  }
}

/// What was decided before, in batches that are stored, and in the one that is being decided.
struct EarlierDecisions {
  private var known: [ServeID: EarlierDecision]
  /// How many of the batch's decisions are among them.
  private var readCount = 0

  init(_ knowledge: SelectionKnowledge?) { known = knowledge?.decisions ?? [:] }

  /// The decision `id`; those of `batch` are looked through once, and only where a request is repeated.
  mutating func find(_ id: ServeID, in batch: [DecidedRequest]) -> EarlierDecision? {
    if let earlier = known[id] { return earlier }
    for decided in batch[readCount...] { known[decided.id] = EarlierDecision(decided) }
    readCount = batch.count
    return known[id]
  }
}
