internal import CEventSchema

/// What the generated schema says about a message: a plain value, so that no C pointer leaves this file.
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
    /// Which oneof of the message it belongs to.
    let oneof: UInt32?
  }

  /// In ascending order of their numbers.
  let fields: [Field]

  /// Every message of the schema by its full name.
  static let all: [String: MessageShape] = {
    var shapes: [String: MessageShape] = [:]
    let roots: [ProtobufCMessageDescriptor] = [
      handbill__v1__ad_request__descriptor, handbill__v1__ad_response__descriptor,
      handbill__v1__impression_event__descriptor, handbill__v1__click_event__descriptor,
      handbill__v1__accepted_impression_record__descriptor, handbill__v1__accepted_click_record__descriptor,
      handbill__v1__usage_record__descriptor, handbill__v1__budget_record__descriptor,
      handbill__v1__catalog_message__descriptor, handbill__v1__rejected_event__descriptor,
    ]
    for root in roots { add(root, to: &shapes) }
    return shapes
  }()

  private static func add(_ descriptor: ProtobufCMessageDescriptor, to shapes: inout [String: MessageShape]) {
    let name = String(cString: descriptor.name)
    guard shapes[name] == nil else { return }
    var fields: [Field] = []
    var inner: [ProtobufCMessageDescriptor] = []
    for field in UnsafeBufferPointer(start: descriptor.fields, count: Int(descriptor.n_fields)) {
      if let read = Field(field) { fields.append(read) }
      if field.type == PROTOBUF_C_TYPE_MESSAGE, let descriptor = field.descriptor {
        inner.append(descriptor.load(as: ProtobufCMessageDescriptor.self))
      }
    }
    shapes[name] = MessageShape(fields: fields)
    for descriptor in inner { add(descriptor, to: &shapes) }
  }
}

extension MessageShape.Field {
  /// The `bytes` fields: protobuf-c is told to hand out strings as bytes as well, so its descriptors cannot tell them
  /// apart. A test holds this against the schema's files.
  static let bytesNames: Set<String> = ["key_hash", "request_id", "serve_id", "token", "value", "value_hash"]

  fileprivate init?(_ field: ProtobufCFieldDescriptor) {
    let name = String(cString: field.name)
    let kind: MessageShape.Kind
    switch field.type {
    case PROTOBUF_C_TYPE_BOOL: kind = .bool
    case PROTOBUF_C_TYPE_INT32: kind = .int32
    case PROTOBUF_C_TYPE_UINT32: kind = .uint32
    case PROTOBUF_C_TYPE_SINT32: kind = .sint32
    case PROTOBUF_C_TYPE_INT64: kind = .int64
    case PROTOBUF_C_TYPE_UINT64: kind = .uint64
    case PROTOBUF_C_TYPE_SINT64: kind = .sint64
    case PROTOBUF_C_TYPE_FIXED64: kind = .fixed64
    case PROTOBUF_C_TYPE_BYTES: kind = MessageShape.Field.bytesNames.contains(name) ? .bytes : .string
    case PROTOBUF_C_TYPE_ENUM: kind = .choice(MessageShape.Field.names(field.descriptor))
    case PROTOBUF_C_TYPE_MESSAGE:
      guard let descriptor = field.descriptor?.load(as: ProtobufCMessageDescriptor.self) else { return nil }
      kind = .message(String(cString: descriptor.name))
    default: return nil
    }
    let isOneof = field.flags & UInt32(PROTOBUF_C_FIELD_FLAG_ONEOF.rawValue) != 0
    self.init(
      number: field.id, name: name, jsonName: MessageShape.Field.camelCase(name), kind: kind,
      isRepeated: field.label == PROTOBUF_C_LABEL_REPEATED, oneof: isOneof ? field.quantifier_offset : nil)
  }

  private static func names(_ descriptor: UnsafeRawPointer?) -> [(name: String, number: Int64)] {
    guard let descriptor = descriptor?.load(as: ProtobufCEnumDescriptor.self) else { return [] }
    return UnsafeBufferPointer(start: descriptor.values, count: Int(descriptor.n_values)).map {
      (String(cString: $0.name), Int64($0.value))
    }
  }

  /// protobuf's rule: each underscore goes, and the letter after it becomes upper case.
  private static func camelCase(_ name: String) -> String {
    var result = ""
    var isUpper = false
    for character in name {
      if character == "_" {
        isUpper = true
      } else {
        result += isUpper ? character.uppercased() : String(character)
        isUpper = false
      }
    }
    return result
  }
}
