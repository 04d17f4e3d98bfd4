/// The longest and largest of everything that can come in a message. What goes beyond is `invalidField`.
package enum FieldLimits {
  /// A serve token, in bytes.
  package static let tokenBytesMaximum = 1_024
  /// An app key, in bytes.
  package static let appKeyBytesMaximum = 128
  /// A client id or a session id, in bytes.
  package static let clientIDBytesMaximum = 128
  /// A click reference as text, in bytes.
  package static let clickReferenceBytesMaximum = 128
  /// A size identifier as the app names it, in bytes.
  package static let sizeIdentifierBytesMaximum = 40
  /// Required sizes of a request; images of an ad.
  package static let sizesMaximum = 16
  /// How long a client may say that it waits for an answer, in milliseconds.
  package static let deadlineMilliseconds: ClosedRange<Int64> = 1...60_000
  /// Segments of a request.
  package static let requestSegmentsMaximum = 32
  /// A segment, category or keyword, in bytes.
  package static let labelBytesMaximum = 64
  /// Labels, hosts or ids in one set of a catalogue record.
  package static let setMaximum = 1_000
  /// A URL, in bytes.
  package static let urlBytesMaximum = 2_048
  /// A name for people, in bytes.
  package static let nameBytesMaximum = 200
  /// A host name, in bytes.
  package static let hostBytesMaximum = 253
  /// A correlation id, in bytes.
  package static let correlationIDBytesMaximum = 64
  /// A topic's name, in bytes (Kafka's own limit).
  package static let topicBytesMaximum = 249
  /// A detail for people, in bytes.
  package static let detailBytesMaximum = 1_000
  /// The sentences of a record's mistakes, in bytes: they stand in a detail, beside others.
  package static let mistakesBytesMaximum = 800
  /// The original bytes of a rejected record that are kept.
  package static let rejectedValueBytesMaximum = 65_536
  /// An event's id, source or reply header, in bytes.
  package static let headerBytesMaximum = 1_024
  /// The last moment that a message can name: the end of the year 9999, in milliseconds.
  package static let timestampMaximum: Int64 = 253_402_300_799_999
  /// How deep messages may nest.
  package static let depthMaximum = 40
  /// A record that a client writes, in bytes.
  package static let clientValueBytesMaximum = 16_384
  /// A record that is larger than clients may write is not read for who sent it beyond so many bytes.
  package static let legibleValueBytesMaximum = 65_536
  /// A record that a service writes, in bytes.
  package static let internalValueBytesMaximum = 1_000_000
}
