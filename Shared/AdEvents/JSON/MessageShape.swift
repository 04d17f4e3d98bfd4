/// What the schema's files say about a message. `all`, every message by its full name, is made from them at each build
/// by the plugin EmbedSchema.
struct MessageShape: Sendable {
  /// How a field is written, in protobuf and in its JSON mapping.
  indirect enum Kind: Sendable {
    case bool
    case int32
    case uint32
    case sint32
    case int64
    case uint64
    case sint64
    case fixed64
    case string
    case bytes
    /// Names by number.
    case choice([(name: String, number: Int64)])
    /// A message, by its full name.
    case message(String)
  }

  struct Field: Sendable {
    let number: UInt32
    /// As the schema writes it.
    let name: String
    /// In lowerCamelCase, as JSON writes it.
    let jsonName: String
    let kind: Kind
    let isRepeated: Bool
    /// Which oneof of the message it belongs to, counted from 0.
    let oneof: UInt32?
  }

  /// In ascending order of their numbers.
  let fields: [Field]
}
