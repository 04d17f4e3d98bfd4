extension RejectionReason {
  /// The reason that a person names by its number or its name; nil where there is none such.
  package init?(text: String) {
    let wanted = text.lowercased().filter { $0 != "-" && $0 != "_" }
    guard let found = Self.allCases.first(where: { "\($0.rawValue)" == text || $0.name.lowercased() == wanted })
    else { return nil }
    self = found
  }

  /// What it says of the record, in one sentence.
  package var meaning: String {
    switch self {
    case .nullValue: "The value is null (a tombstone), and this topic has none."
    case .emptyValue: "The value is empty."
    case .tooLarge: "The record is larger than its topic allows, or than can be sent on to its partition."
    case .unknownContentType: "The content type is neither protobuf nor JSON."
    case .malformed: "The bytes are no message of this topic's type."
    case .missingField: "A field that must be there is missing."
    case .invalidField: "A field has a value outside its range."
    case .invalidText: "A text is not UTF-8, or holds a NUL."
    case .invalidEnvelope: "A ce_ header is missing or invalid."
    case .unknownType: "ce_type is of another topic, or of an unknown major version."
    case .tokenForged: "The serve token is not ours, or was altered."
    case .tokenKeyUnknown: "The serve token's key is not in the service's ring, or past its time."
    case .tokenExpired:
      "The event lies after the life of its serve token, a tap further than the longest tap delay after it."
    case .tokenOutOfTime: "The serve token was issued more than 26 h before its arrival, or after it."
    case .eventInFuture: "The event lies more than 5 s after its arrival."
    case .tooLateArrival: "It came more than 24 h after the event."
    case .unknownPartition: "The serve token names a partition that the topic does not have."
    case .invalidReply:
      "The reply topic is not the app's own, the reply partition does not exist, or the correlation id is too long."
    case .refusedByDatabase: "PostgreSQL refused its row."
    case .invalidInternal: "A record of a topic that only our services write does not decode."
    case .macWrong:
      "A record of a topic that only our services write carries no MAC of the network's keys, or that of another record."
    case .macKeyUnknown:
      "The MAC of a record that only our services write is under a key that is not in the reading service's ring."
    case .forwardedTooOften:
      "It lies in the wrong partition, and the same of its ad or request was sent on as often as that is done."
    case .notItsClient:
      "The record's key is not that of the request that got the ad: the client id, else the session id, and the session id where "
        + "the answer says counts_by_session."
    case .appKeyWrong:
      "A failure without an ad, or a conversion, carries an app key that is unknown, revoked, or another app's."
    case .consentMissing:
      "A conversion came without its user's consent, or from an app for users under 17, who cannot give it (A4): it is counted, "
        + "and nothing of it is kept (A8)."
    case .referenceForged: "A conversion's click reference is not ours, or was altered."
    case .conversionTooLate: "A conversion came longer after its ad was served than conversions count (M8)."
    case .tooManyConversions: "More purchases were told of one click than are kept (M8)."
    }
  }

  /// What a person does about it.
  package var remedy: String {
    switch self {
    case .nullValue, .emptyValue, .tooLarge, .unknownContentType, .malformed, .missingField, .invalidField,
      .invalidText, .invalidEnvelope:
      "Mend the client that writes it: the detail names the place. The same bytes will be rejected again."
    case .unknownType:
      "Mend the client; if it speaks a newer version, bring the services up to date and replay."
    case .appKeyWrong:
      "Mend the client: it sends the key of its requests. Many that nobody knows are a stranger's, and count nowhere."
    case .consentMissing:
      "Mend the advertised app: it asks its user, and tells nothing where the answer is no, or where users are under 17."
    case .referenceForged:
      "Mend the advertised app: it sends the text that the store link carried, unchanged. Keep old keys in the ring."
    case .conversionTooLate: "Nothing; HANDBILL_CONVERSION_WINDOW says how long conversions count."
    case .tooManyConversions: "Look at the app that tells them: a click seldom brings so many."
    case .forwardedTooOften:
      "Mend the client: what is of one client goes to the partition of its key, and again only until it is acknowledged."
    case .notItsClient:
      "Mend the client: an event's key is that of its request; where the answer says counts_by_session, as in apps for users under "
        + "17 and until that is answered (A4), the session id. Many of one app: somebody tells of others' ads."
    case .tokenForged:
      "Nothing: it is not billed. Many from one app: revoke its key."
    case .tokenKeyUnknown:
      "Give all services the same HANDBILL_TOKEN_KEYS, with the old keys in it, and replay within 26 h of the answer."
    case .tokenExpired, .tokenOutOfTime, .tooLateArrival:
      "Nothing: it came after its time. If all devices are late, look for what held their events back."
    case .eventInFuture:
      "See that the brokers' clocks are right; a single device's age may be wrong. Replay once they are."
    case .unknownPartition:
      "Bring the topic to the network's partition count with 'handbill topics create', and replay."
    case .invalidReply: "Mend the client; give the app its topic with 'handbill topics create --app ID'."
    case .refusedByDatabase:
      "A fault of ours: the service's log has PostgreSQL's message. Mend it, then replay."
    case .macKeyUnknown:
      "Give all services the same HANDBILL_TOKEN_KEYS, old keys in it for 8 days. What is missing comes again by itself."
    case .invalidInternal, .macWrong:
      "Keep everybody but our services from writing into this topic (Kafka's ACLs). What is missing comes again by itself."
    }
  }
}
