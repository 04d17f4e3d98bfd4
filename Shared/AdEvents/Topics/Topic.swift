package import AdBasics

/// The topics: one table of what each is for, how it is keyed and kept, and who writes and reads it. The topics are
/// made from it, and so is `docs/asyncapi.yaml`.
package enum Topic: CaseIterable, Hashable, Sendable {
  case requests
  /// One topic for each app, so that a broker's access rules can keep one app from reading another's tokens.
  case responses
  case impressions
  case clicks
  case acceptedImpressions
  case acceptedClicks
  case usage
  case budgets
  case catalog
  case rejected

  /// The topic's name; for ``responses``, what every app's topic begins with.
  package var name: String {
    switch self {
    case .requests: "ads.requests"
    case .responses: "ads.responses."
    case .impressions: "ads.impressions"
    case .clicks: "ads.clicks"
    case .acceptedImpressions: "ads.impressions.accepted"
    case .acceptedClicks: "ads.clicks.accepted"
    case .usage: "ads.usage"
    case .budgets: "ads.budgets"
    case .catalog: "ads.catalog"
    case .rejected: "ads.rejected"
    }
  }

  /// The topic that the answers for an app go to: made from the app's id, never from a header.
  package static func responses(for app: AppID) -> String { Topic.responses.name + app.text }

  /// The topic of the answers to what came by the edge, of whichever app; no app may have an id that gives this name.
  package static let edgeResponses = Topic.responses.name + App.reservedID

  /// How many partitions it has.
  package enum PartitionRule: Hashable, Sendable {
    /// As many as the network has: number *i* of all of them belong together.
    case network
    case fixed(Int32)
  }

  package var partitionRule: PartitionRule {
    switch self {
    case .catalog: .fixed(1)
    default: .network
    }
  }

  /// What happens to old records.
  package enum Cleanup: String, Hashable, Sendable {
    case delete
    /// The last record of each key is kept.
    case compact
  }

  package var cleanup: Cleanup { self == .catalog ? .compact : .delete }

  /// How long records are kept, in milliseconds; nil where they are compacted instead. What clients tell may come 24 h
  /// late and must outlast a long weekend's outage; an answer is worthless once its deadline is over.
  package var retentionMilliseconds: Int64? {
    let hour: Int64 = 3_600_000
    return switch self {
    case .responses: hour
    case .requests: 24 * hour
    case .impressions, .clicks, .acceptedImpressions, .acceptedClicks, .usage, .budgets: 7 * 24 * hour
    case .rejected: 30 * 24 * hour
    case .catalog: nil
    }
  }

  /// The times that whoever runs a network may set instead, such as through an outage: A8, never longer than docs/privacy.md
  /// promises, which is what rows keep of a client. Requests and answers name clients in plain, and nobody gains by keeping
  /// them, as nothing answers a request or shows an ad once its deadline is over.
  package var ownRetentionMilliseconds: ClosedRange<Int64>? {
    guard let retentionMilliseconds else { return nil }
    return switch self {
    case .requests, .responses: retentionMilliseconds...retentionMilliseconds
    case .rejected: 0...retentionMilliseconds
    default: 0...90 * 24 * 3_600_000
    }
  }

  /// Whether clients write it: then the broker's clock counts, not theirs.
  package var isWrittenByClients: Bool {
    switch self {
    case .requests, .impressions, .clicks: true
    default: false
    }
  }

  /// Whether its records carry a MAC of the network's keys, without which nobody believes them: services write it, and
  /// services read it.
  package var isAuthenticated: Bool {
    switch self {
    case .acceptedImpressions, .acceptedClicks, .usage, .budgets, .catalog: true
    case .requests, .responses, .impressions, .clicks, .rejected: false
    }
  }

  private static let authenticated = Set(allCases.filter(\.isAuthenticated).map(\.name))

  /// The same of the topic with this name.
  package static func isAuthenticated(name: String) -> Bool { authenticated.contains(name) }

  /// The largest batch of records that the broker takes, in bytes (`max.message.bytes` limits what a producer sends at
  /// once, not one record; one that is larger fails whole, good records too). Of clients, Kafka's own default, to which the
  /// producers of all libraries keep: it bounds what a reader must hold. What a single value may have is
  /// ``EventMessage/valueBytesMaximum``: a larger one is rejected by us, with its reason.
  package var batchBytesMaximum: Int { isWrittenByClients ? 1 << 20 + 12 : 2 << 20 }

  /// What the record's key says: always UTF-8 text, where there is one.
  package var keyMeaning: String {
    switch self {
    case .requests:
      "the client id, else the session id, so that Kafka's usual partitioner (murmur2; partitioner=murmur2_random for "
        + "librdkafka) finds the client's partition; in any other the record is forwarded, one hop later"
    case .responses: "the request id as text, as in ce_id; the partition is the one that the request named"
    case .impressions, .clicks:
      "as of the request, the client id, else the session id, and the session id where the answer says counts_by_session: "
        + "it finds the partition that the token names; in any other the record is forwarded there, one hop later"
    case .acceptedImpressions, .acceptedClicks: "none; the partition is the one that the tokens name"
    case .usage, .budgets: "the campaign's id; the partition is the one that asked; none for a watermark"
    case .catalog: "the record's kind and id, such as campaign/ID, or heartbeat"
    case .rejected: "none; the partition is the one of the rejected record"
    }
  }

  /// What it is for, in a sentence.
  package var summary: String {
    switch self {
    case .requests: "Apps ask for ads."
    case .responses: "The answers for one app: an ad with its serve token, or an error code."
    case .impressions: "What devices tell about ads on screen."
    case .clicks: "What devices tell about taps, once they are complete, and advertised apps about what came of them."
    case .acceptedImpressions: "Impressions that count, in runs of consecutive sequences, with watermarks."
    case .acceptedClicks: "Clicks with their verdicts, in runs of consecutive sequences, with watermarks."
    case .usage: "Ad selection asks for pieces of budget, and reports what it used."
    case .budgets: "Billing grants pieces of budget, in sequence."
    case .catalog: "The catalogue, whole, at its versions, and its heartbeat."
    case .rejected: "Bad input, with its numbered reason and its bytes, without what names its client."
    }
  }
}
