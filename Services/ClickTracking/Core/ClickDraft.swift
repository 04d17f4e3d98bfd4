internal import AdCore
internal import AdEvents
internal import Pipeline

/// A batch of click tracking on its way: what the tables knew, moved on by each record, and what came of it.
struct ClickDraft {
  var known: ClickKnowledge
  /// Whose clicks wait on a served ad, of those that the batch asked for and those that it parks.
  var clientsWaiting: [ServeID: ClickClient] = [:]
  var decision: BatchDecision<ClickEffects>
  let context: BatchContext

  init(recordCount: Int, knowing knowledge: ClickKnowledge?, context: BatchContext) {
    known = knowledge ?? ClickKnowledge()
    decision = BatchDecision(outcomes: Array(repeating: .accepted, count: recordCount), effects: ClickEffects())
    self.context = context
    for (client, clicks) in known.clients {
      for click in clicks.waiting {
        known.identities.insert(click.identity)
        clientsWaiting[click.terms.serveID] = client
      }
    }
  }

  /// Gives a click its verdict and its sequence.
  mutating func record(_ click: ParkedClick, _ verdict: ClickVerdict, isJudged: Bool, wasParked: Bool) {
    let accepted = AcceptedClick(
      terms: click.terms, idHash: click.idHash, eventTime: click.eventTime, arrival: click.arrival, verdict: verdict)
    let sequence = context.nextSequences[0] + Int64(decision.effects.clicks.count)
    decision.effects.clicks.append(
      .init(
        sequence: sequence, accepted: accepted, isAccidental: click.isAccidental, isJudged: isJudged,
        wasParked: wasParked))
    guard wasParked, decision.effects.parked.removeValue(forKey: click.identity) == nil else { return }
    decision.effects.released.append(click.identity)
  }
}
