package import AdCore
internal import AdEvents
internal import Crypto
package import Pipeline
package import Postgres

/// What would become of a rejected record if it were sent again now.
package struct ReplayOutlook: Hashable, Sendable {
  package enum Kind: String, Hashable, Sendable {
    /// It would be taken.
    case taken
    /// It is taken already: it would count nowhere (M4).
    case duplicate
    /// It would be rejected again.
    case rejected
    /// It decodes; without the network's keys nobody can say more.
    case unchecked
    /// It cannot be sent again.
    case impossible
  }

  package var kind: Kind
  /// Why, in a sentence.
  package var detail: String
  /// What its token says, where it verifies.
  package var terms: ServedTerms?

  /// Whether it is sent again when a person asks for it.
  package var isSendable: Bool { kind != .impossible }
}

/// Says of rejected records whether they can be sent again and how they would be decided now: by the decoders, the keys
/// and the windows that the services use, and by what is stored already. The verdict of a click is left to the service.
package struct ReplayJudge {
  private let tokens: EventTokens?
  /// By service, as it notes them.
  private let windows: [String: Windows]
  private let connection: PostgresConnection

  /// - Parameter tokens: opens what is under the network's keys; nil where they are not known.
  package init(tokens: EventTokens?, connection: PostgresConnection) throws(PostgresError) {
    self.tokens = tokens
    self.connection = connection
    var windows: [String: Windows] = [:]
    for service in RejectedRecords.services {
      windows[service] = try StoredWindows.current(service: service, in: connection)
    }
    self.windows = windows
  }

  /// Judges one record, whose bytes were read, as if it arrived at `now`.
  package func judge(_ record: KeptRecord, now: Timestamp) throws(PostgresError) -> ReplayOutlook {
    if let obstacle = obstacle(record) { return ReplayOutlook(kind: .impossible, detail: obstacle) }
    let event = KeptEvent(record)
    switch event {
    case .request, .ofServices: return ReplayOutlook(kind: .impossible, detail: "its topic is not replayed")
    case .undecodable(let rejection): return rejected(rejection.reason, rejection.detail)
    case .impression, .click: break
    }
    let windows = windows[record.reference.service] ?? Windows()
    guard let token = event.token else { return try judgeFailure(event, of: record, windows, now: now) }
    guard let tokens else {
      // What was forged stays forged, whoever asks.
      if record.reason == .tokenForged { return rejected(.tokenForged, "the serve token was not ours or was altered") }
      return ReplayOutlook(kind: .unchecked, detail: "it decodes; without HANDBILL_TOKEN_KEYS its token is not checked")
    }
    let opened = token.withUnsafeBytes { token in
      (record.key ?? []).withUnsafeBytes { tokens.terms(token, of: $0, now: now) }
    }
    switch opened {
    case .failure(let rejection) where rejection.reason == .notItsClient && record.key == nil:
      return ReplayOutlook(
        kind: .impossible, detail: "it had no key, or its key is not kept any more: it counts under that key alone")
    case .failure(let rejection): return rejected(rejection.reason, rejection.detail)
    case .success(let terms):
      var outlook = try judge(event, terms, windows, now: now)
      outlook.terms = terms
      return outlook
    }
  }

  /// Why a record cannot be sent again; nil if it can.
  private func obstacle(_ record: KeptRecord) -> String? {
    switch record.reference.topic {
    case Topic.impressions.name, Topic.clicks.name: break
    case Topic.requests.name: return "a request past its deadline gets no auction; the app asks again by itself"
    default: return "only our services write this topic: 'handbill republish' has them send it again"
    }
    if record.headers == nil {
      return "its headers are not kept: it was beyond the limits, or is older than 30 days"
    }
    guard record.isWhole else { return "only \(record.keptBytes) of \(record.valueLength) bytes are kept" }
    guard record.isHashRight else { return "what names its client is not kept (A8)" }
    return record.replayOf.map { "it is a replay of \($0), which stands for it" }
  }

  private func judge(
    _ event: KeptEvent, _ terms: ServedTerms, _ windows: Windows, now: Timestamp
  ) throws(PostgresError) -> ReplayOutlook {
    func time(_ subject: EventTiming.Subject, _ age: EventAge, _ identity: EventIdentity) -> EventTiming {
      let milliseconds: Int64? = if case .milliseconds(let age) = age { age } else { nil }
      return EventTiming.judge(
        subject, terms: terms, ageMilliseconds: milliseconds, claimedTime: identity.time, arrival: now,
        windows: windows)
    }
    let timing: EventTiming
    let isStored: Bool
    var isImpossible = false
    switch event {
    case .impression(let event):
      timing = time(.impression, event.age, event.identity)
      if event.kind == .viewed, case .milliseconds(let age) = event.age {
        isImpossible = windows.isImpossibleView(ageMilliseconds: age)
      }
      let kind = isImpossible ? .viewedTooSoon : RecordedKind(event.kind)
      isStored = try exists(FindReplayedImpression(partition: terms.partition, serveID: terms.serveID, kind: kind))
    case .click(let event):
      timing = time(.click, event.age, event.identity)
      isStored = try exists(
        FindReplayedClick(
          partition: terms.partition, serveID: terms.serveID, kind: event.kind, idHash: event.identity.idHash))
    case .request, .undecodable, .ofServices: return ReplayOutlook(kind: .impossible, detail: "it is no event")
    }
    guard case .at(let time) = timing else {
      let (reason, detail) = timing.rejection
      return rejected(reason, detail)
    }
    if isStored { return ReplayOutlook(kind: .duplicate, detail: "it is taken already and would count nowhere (M4)") }
    let effect = isImpossible ? "recorded as seen sooner than can be (B8)" : "taken"
    return ReplayOutlook(
      kind: .taken, detail: "it would be \(effect), as of \(time.utcText), in partition \(terms.partition)")
  }

  /// A failure without an ad carries no token.
  private func judgeFailure(
    _ event: KeptEvent, of record: KeptRecord, _ windows: Windows, now: Timestamp
  ) throws(PostgresError) -> ReplayOutlook {
    guard case .impression(let event) = event, case .request(let request) = event.subject else {
      return rejected(.missingField, "it carries no token")
    }
    guard abs(now.milliseconds(since: request.requestID.timestamp)) <= windows.issuedBeforeArrivalMilliseconds else {
      return rejected(.invalidField, "the request id was made more than 26 h from its arrival")
    }
    guard try exists(FindReplayedKey(keyHash: SHA256.hash(request.appKey.utf8), app: request.app)) else {
      return rejected(.appKeyWrong, "A1: the app key is unknown, revoked, or not that of app \(request.app)")
    }
    let stored = FindReplayedFailure(
      partition: record.reference.partition, requestID: request.requestID, error: event.error ?? .unknown)
    if try exists(stored) {
      return ReplayOutlook(kind: .duplicate, detail: "it is taken already and would count nowhere")
    }
    return ReplayOutlook(kind: .taken, detail: "it would be taken")
  }

  private func exists<Statement: PostgresStatement>(
    _ statement: Statement
  ) throws(PostgresError) -> Bool where Statement.Row == Bool {
    try connection.run(statement).first ?? false
  }

  private func rejected(_ reason: RejectionReason, _ detail: String) -> ReplayOutlook {
    ReplayOutlook(kind: .rejected, detail: "\(reason.rawValue) \(reason.name): \(detail)")
  }
}
