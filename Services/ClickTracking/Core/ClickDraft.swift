import AdCore
import AdEvents
import Pipeline

/// A batch of click tracking on its way: what the tables knew, moved on by each record, and what came of it.
struct ClickDraft {
  var known: ClickKnowledge
  var decision: Decision<ClickEffects>
  let context: BatchContext

  /// Gives a click its verdict, its sequence and its place in the counts.
  mutating func record(_ click: ParkedClick, _ verdict: ClickVerdict, wasParked: Bool) {
    let accepted = AcceptedClick(
      terms: click.terms, idHash: click.idHash, eventTime: click.eventTime, arrival: click.arrival, verdict: verdict)
    let sequence = context.nextSequences[0] + Int64(decision.effects.clicks.count)
    decision.effects.clicks.append(.init(sequence: sequence, accepted: accepted, wasParked: wasParked))
    decision.messages.append(
      NumberedMessage(output: 0, sequence: sequence, message: ClickTracking.message(accepted, sequence: sequence)))
    count(MinuteKey(kind: .click, verdict: verdict, terms: click.terms, time: click.eventTime))
    let id = click.terms.serveID
    known.serves[id, default: ServeClicks()].decidedCount += 1
    guard verdict == .billable else { return }
    known.serves[id]?.hasBillable = true
    var times = known.counted[click.terms.clientHash] ?? []
    times.insert(click.eventTime, at: times.firstIndex { $0 > click.eventTime } ?? times.endIndex)
    known.counted[click.terms.clientHash] = times
  }

  mutating func count(_ key: MinuteKey) { decision.effects.counts[key, default: 0] += 1 }
}

extension ParkedClick {
  var identity: ActionIdentity { ActionIdentity(serveID: terms.serveID, kind: .click, idHash: idHash) }
}
