/// Whoever writes or reads topics.
package enum Participant: String, CaseIterable, Hashable, Sendable {
  case client = "client SDK"
  /// Writes and reads for the devices that come by HTTP.
  case edge
  case adSelection = "ad selection"
  case impressionTracking = "impression tracking"
  case clickTracking = "click tracking"
  case billing = "billing"
  case console = "console"

  /// Whether its database keeps what it has read, and up to where.
  package var keepsPositions: Bool { ![.client, .edge, .console].contains(self) }
}

/// One kind of message that a topic holds.
package struct TopicMessage: Hashable, Sendable {
  /// The schema's full name.
  package let schemaName: String
  /// The `ce_type`s that it comes with.
  package let eventTypes: [EventType]
  /// The most bytes that a value may have.
  package let valueBytesMaximum: Int

  init<Message: EventMessage>(_: Message.Type) {
    schemaName = Message.schemaName
    eventTypes = Message.eventTypes
    valueBytesMaximum = Message.valueBytesMaximum
  }
}

extension Topic {
  /// A serve token names a partition of all of these: ad selection gives no number that one of them lacks.
  package static let namedByTokens: [Topic] = [
    .impressions, .clicks, .acceptedImpressions, .acceptedClicks, .usage,
  ]

  /// Who writes it.
  package var writers: [Participant] {
    switch self {
    // Ad selection and the trackers forward what arrives in another partition than its own.
    case .requests: [.client, .edge, .adSelection]
    case .impressions: [.client, .edge, .impressionTracking]
    case .clicks: [.client, .edge, .clickTracking]
    case .responses, .usage: [.adSelection]
    case .acceptedImpressions: [.impressionTracking]
    case .acceptedClicks: [.clickTracking]
    case .budgets: [.billing]
    case .catalog: [.console]
    case .rejected: [.adSelection, .impressionTracking, .clickTracking, .billing]
    }
  }

  /// Those whose messages carry dense sequences.
  package static let sequenced: [Topic] = [.acceptedImpressions, .acceptedClicks, .budgets, .usage]

  /// The service that writes a topic with sequences; nil for other topics.
  package static func writer(ofSequenced name: String) -> Participant? {
    sequenced.first { $0.name == name }?.writers.first
  }

  /// Who reads it.
  package var readers: [Participant] {
    switch self {
    case .requests, .budgets: [.adSelection]
    case .responses: [.client, .edge]
    case .impressions: [.impressionTracking]
    case .clicks: [.clickTracking]
    case .acceptedImpressions: [.clickTracking, .billing]
    case .acceptedClicks, .usage: [.billing]
    case .catalog: [.adSelection, .billing, .edge]
    case .rejected: []
    }
  }

  /// What it holds.
  package var message: TopicMessage {
    switch self {
    case .requests: TopicMessage(AdRequest.self)
    case .responses: TopicMessage(AdResponse.self)
    case .impressions: TopicMessage(ImpressionEvent.self)
    case .clicks: TopicMessage(ClickEvent.self)
    case .acceptedImpressions: TopicMessage(Sequenced<AcceptedImpression>.self)
    case .acceptedClicks: TopicMessage(Sequenced<AcceptedClick>.self)
    case .usage: TopicMessage(UsageRecord.self)
    case .budgets: TopicMessage(BudgetRecord.self)
    case .catalog: TopicMessage(CatalogMessage.self)
    case .rejected: TopicMessage(RejectedEvent.self)
    }
  }
}
