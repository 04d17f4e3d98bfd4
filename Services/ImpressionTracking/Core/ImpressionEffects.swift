package import AdCore
package import AdEvents
internal import Pipeline

/// What a batch of impression tracking writes.
package struct ImpressionEffects: Sendable {
  package var impressions: [Impression] = []
  package var deliveries: [Delivery] = []
  package var failures: [Failure] = []

  package init() {}

  /// An impression that counts, with its sequence on `ads.impressions.accepted`.
  package struct Impression: Sendable {
    package var sequence: Int64
    package var accepted: AcceptedImpression
  }

  /// Rendered, unloaded or failed, or an impossible view.
  package struct Delivery: Sendable {
    /// Of which many lie in one row, where no key refuses what was stored before. Most of it comes soon after the ad's
    /// decision: memory says that it is new, and the tables are asked for the others.
    package static let packedKind = RecordedKind.rendered

    package var kind: RecordedKind
    package var terms: ServedTerms
    package var eventTime: Timestamp
    package var error: AdError?
  }

  package struct Failure: Sendable {
    package var failure: RequestFailure
    package var arrival: Timestamp
    /// By the kind of build that its key is of (A1).
    package var isTest: Bool
  }
}

/// What a batch wants to know from the tables.
package struct ImpressionQuery: Hashable, Sendable {
  /// Which of these ids are there.
  package var ids = ImpressionIDs()
  /// Whose app keys these are, by SHA-256.
  package var keys: Set<[UInt8]> = []

  package init() {}

  package var isEmpty: Bool { ids.isEmpty && keys.isEmpty }
}

/// What the tables know of it.
package struct ImpressionKnowledge: Sendable {
  package var ids = ImpressionIDs()
  /// Those that are registered, by SHA-256.
  package var keys: [[UInt8]: AppKey] = [:]

  package init() {}
}

/// Ids by table.
package struct ImpressionIDs: Hashable, Sendable {
  package var impressions: Set<UUIDv7> = []
  package var deliveries: [RecordedKind: Set<UUIDv7>] = [:]
  package var failures: [AdError: Set<UUIDv7>] = [:]

  package init() {}

  package var isEmpty: Bool { impressions.isEmpty && deliveries.isEmpty && failures.isEmpty }
}
