/// Why a record was rejected. Numbered and public: a number never changes meaning. They share the byte of a batch's
/// outcomes with the other outcomes, and so stand from 64 up.
package enum RejectionReason: UInt8, Error, Sendable, Vocabulary {
  /// A null value (tombstone) where there can be none.
  case nullValue = 64
  /// An empty value.
  case emptyValue = 65
  /// Larger than the topic's limit.
  case tooLarge = 66
  /// Neither protobuf nor JSON by its content type.
  case unknownContentType = 67
  /// The bytes are not a message of this type.
  case malformed = 68
  /// A needed field is missing.
  case missingField = 69
  /// A field has a value outside its range.
  case invalidField = 70
  /// Text is not UTF-8, or holds a NUL.
  case invalidText = 71
  /// A `ce_` header is missing or invalid.
  case invalidEnvelope = 72
  /// `ce_type` is of another topic or an unknown major version.
  case unknownType = 73
  /// The token does not parse, or is not authentic.
  case tokenForged = 74
  /// The token's key is unknown or past its time.
  case tokenKeyUnknown = 75
  /// The event lies after the token's life.
  case tokenExpired = 76
  /// Issued-at lies outside arrival - 26 h to arrival + 5 s.
  case tokenOutOfTime = 77
  /// The event time lies more than 5 s after its arrival.
  case eventInFuture = 78
  /// It came more than 24 h after the event.
  case tooLateArrival = 79
  /// The token names a partition that does not exist.
  case unknownPartition = 80
  /// The reply topic is not the app's, or the reply partition does not exist.
  case invalidReply = 81
  /// The database refused the row (SQLSTATE 22 or 23).
  case refusedByDatabase = 82
  /// A record of a topic that only our services write does not decode.
  case invalidInternal = 83
  /// A record of a topic that only our services write has no MAC of the network's keys, or another record's.
  case macWrong = 84
  /// The key of its MAC is not in the ring.
  case macKeyUnknown = 85
  /// A failure without an ad does not carry the key of the app that it names (A1).
  case appKeyWrong = 86
  /// The same of the same ad or request was sent on from the wrong partition as often as that is done.
  case forwardedTooOften = 87
  /// The record's key is not the client, or session, that the ad was served to.
  case notItsClient = 88
  /// A conversion without its user's consent (A8): nothing of it is kept.
  case consentMissing = 89
  /// A conversion's click reference is not ours, or was altered.
  case referenceForged = 90
  /// A conversion so long after its ad that it is not put down to it (M8).
  case conversionTooLate = 91
  /// More purchases of one click than are kept (M8).
  case tooManyConversions = 92

  package static let vocabulary = "rejection_reason"

  /// Whether anything of such a record may be kept; else it is counted alone.
  package var isKept: Bool { self != .consentMissing }
}
