/// Further settings of librdkafka, as a person writes them: `name=value`, divided by commas; a comma in a value is
/// written `\,`. They may hold secrets, so neither this nor its errors repeat a value.
package struct KafkaProperties: Hashable, Sendable {
  /// Why a text is none.
  package enum Mistake: Error, Hashable, Sendable, CustomStringConvertible {
    /// The entry with this number, from 1, is not `name=value`.
    case malformed(entry: Int)
    case twice(name: String)
    /// It would take away what the exactly-once protocol rests on.
    case reserved(name: String)

    package var description: String {
      switch self {
      case .malformed(let entry):
        "entry \(entry) is not name=value, such as security.protocol=SASL_SSL (a comma in a value is written \\,)"
      case .twice(let name): "\(name) stands there twice"
      case .reserved(let name): "\(name) is not to be set: the services set it as their protocol needs it"
      }
    }
  }

  package let values: [String: String]

  package init() { values = [:] }

  /// - Throws: the first mistake.
  package init(_ text: String) throws(Mistake) {
    var values: [String: String] = [:]
    for (index, entry) in Self.entries(text).enumerated() {
      guard let equals = entry.firstIndex(of: "=") else { throw .malformed(entry: index + 1) }
      let name = String(entry[..<equals])
      guard (1...Self.nameLengthMaximum).contains(name.count), name.allSatisfy(Self.nameCharacters.contains) else {
        throw .malformed(entry: index + 1)
      }
      guard values[name] == nil else { throw .twice(name: name) }
      guard !Self.reserved.contains(name) else { throw .reserved(name: name) }
      values[name] = String(entry[entry.index(after: equals)...])
    }
    self.values = values
  }

  /// Librdkafka's longest name has 38 characters.
  private static let nameLengthMaximum = 64
  private static let nameCharacters = Set("abcdefghijklmnopqrstuvwxyz0123456789._")

  /// What the protocol rests on (where a record goes, that it arrives once and in order, where reading begins and what
  /// it sees), under each name that librdkafka has for it.
  private static let reserved: Set<String> = [
    "acks", "allow.auto.create.topics", "auto.commit.enable", "auto.offset.reset", "bootstrap.servers", "check.crcs",
    "delivery.report.only.error", "delivery.timeout.ms", "enable.auto.commit", "enable.auto.offset.store",
    "enable.idempotence", "enable.partition.eof", "group.id", "group.instance.id", "isolation.level", "log.queue",
    "max.in.flight", "max.in.flight.requests.per.connection", "message.send.max.retries", "message.timeout.ms",
    "metadata.broker.list", "partitioner", "request.required.acks", "retries", "transactional.id",
  ]

  /// Divided at commas without a backslash before them; spaces around an entry do not count.
  private static func entries(_ text: String) -> [String] {
    var entries = [""]
    var isEscaped = false
    for character in text {
      if isEscaped {
        entries[entries.count - 1] += character == "," ? "," : "\\\(character)"
        isEscaped = false
      } else if character == "\\" {
        isEscaped = true
      } else if character == "," {
        entries.append("")
      } else {
        entries[entries.count - 1].append(character)
      }
    }
    if isEscaped { entries[entries.count - 1].append("\\") }
    return entries.map { entry in
      String(entry.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
  }
}

/// Names alone.
extension KafkaProperties: CustomStringConvertible {
  package var description: String { values.keys.sorted().map { "\($0)=…" }.joined(separator: ",") }
}
