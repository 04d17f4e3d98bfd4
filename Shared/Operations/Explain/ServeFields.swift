internal import AdCore
internal import JSON

/// A stored row as fields for programs: names in camel case, money as exact text in units of the currency, times and
/// days as text, and for each stored number the name of what it means, with its rule.
enum ServeFields {
  /// Columns that hold nanos.
  private static let money: Set = [
    "impression_price", "click_price", "price", "amount", "developer_amount", "network_amount", "reserved", "debit",
    "credit", "charged", "granted", "used", "campaign_free", "click_reserve",
    "clicks_charged", "value",
  ]
  /// Numbers of 64 bits that no program adds up: as text, since a JSON reader may hold numbers to 53 bits only.
  private static let identities: Set = ["id", "allotment", "id_hash", "client_hash", "rules"]
  /// Days since 1970-01-01.
  private static let days: Set = ["budget_day", "day"]
  /// The first columns of a row, in this order; the others follow by their names.
  private static let first = [
    "serve_id", "request_id", "service", "kind", "reason", "verdict", "fate", "state", "account", "event_time",
    "arrival",
    "app", "placement", "campaign", "ad", "price", "amount", "developer_amount", "network_amount", "debit", "credit",
    "currency",
  ]

  static func of(_ row: JSONValue, _ section: ServeSections.Section) -> JSONValue {
    guard case .object(let members) = row else { return row }
    var fields: [JSONValue.Member] = []
    for member in members.sorted(by: { rank($0.name) < rank($1.name) }) {
      switch member.name {
      case "excluded_reasons": fields.append(.init("excluded", exclusions(row)))
      case "required_sizes": fields.append(.init("requiredSizes", requiredSizes(member.value)))
      case "image_sizes": fields.append(.init("images", images(row)))
      case "edge_flags": fields.append(.init("edge", StoredSight(row)?.json ?? .null))
      case "excluded_counts", "image_urls", "edge_network": continue
      default: fields += self.fields(member.name, member.value, section)
      }
    }
    return .object(fields)
  }

  private static func fields(
    _ column: String, _ value: JSONValue, _ section: ServeSections.Section
  ) -> [JSONValue.Member] {
    let name = camelCase(column)
    if let meaning = section.meanings[column] {
      guard let number = value.integerValue else {
        return name == "error" ? [.init("error", .null), .init("errorName", .null)] : [.init(name, .null)]
      }
      return meant(name, number, meaning(number))
    }
    if money.contains(column), let nanos = nanos(value) { return [.init(name, .text(MoneyText.format(nanos)))] }
    // Millionths of a nano of the network's own unit.
    if column == "expected_value", let value = nanos(value) {
      return [.init("expectedValue", .text(MoneyText.format(value / 1_000_000)))]
    }
    if let number = value.integerValue {
      if identities.contains(column) { return [.init(name, .text(String(number)))] }
      if days.contains(column) { return [.init(name, .text(day(number)))] }
    }
    guard let text = value.textValue, !text.isEmpty else {
      return [.init(name, value.textValue == nil ? value : .null)]
    }
    return [.init(name, .text(time(text)))]
  }

  /// Of an error also its public number, and of a free click in billing also why.
  private static func meant(_ name: String, _ number: Int64, _ meaning: StoredMeaning) -> [JSONValue.Member] {
    switch name {
    case "error": [.init("error", .integer(number)), .init("errorName", .text(meaning.name))]
    case "device", "size", "action", "state", "paidAds": [.init(name, .text(meaning.name))]
    case "fate":
      [
        .init(name, .text(meaning.name)), .init("rule", .optional(meaning.rule)),
        .init("verdict", .optional(StoredMeaning.verdict(ofFate: number)?.name)),
      ]
    case "kind": [.init(name, .text(meaning.name))]
    default: [.init(name, .text(meaning.name)), .init("rule", .optional(meaning.rule))]
    }
  }

  private static func exclusions(_ row: JSONValue) -> JSONValue {
    let reasons = row["excluded_reasons"]?.elements ?? []
    let counts = row["excluded_counts"]?.elements ?? []
    return .list(
      zip(reasons, counts).map { reason, count in
        let meaning = StoredMeaning.exclusion(reason.integerValue ?? 0)
        return ["reason": .text(meaning.name), "rule": .optional(meaning.rule), "ads": count]
      })
  }

  private static func requiredSizes(_ bits: JSONValue) -> JSONValue {
    bits.integerValue.map { .list(StoredMeaning.requiredSizes($0).map { .text($0) }) } ?? .null
  }

  private static func images(_ row: JSONValue) -> JSONValue {
    let sizes = row["image_sizes"]?.elements ?? []
    let addresses = row["image_urls"]?.elements ?? []
    return .list(
      zip(sizes, addresses).map { ["size": .text(StoredMeaning.size($0.integerValue ?? 0).name), "url": $1] })
  }

  /// A moment as the database writes it, in the form of all others; any other text as it is.
  static func time(_ text: String) -> String {
    guard text.hasSuffix("+00:00") else { return text }
    return Timestamp(utcText: text.dropLast(6) + "Z")?.utcText ?? text
  }

  private static func nanos(_ value: JSONValue) -> Int128? {
    value.integerValue.map { Int128($0) } ?? value.textValue.flatMap { Int128($0) }
  }

  private static func day(_ days: Int64) -> String {
    String(Timestamp(milliseconds: days * 86_400_000).utcText.prefix(10))
  }

  private static func rank(_ column: String) -> (Int, String) {
    (first.firstIndex(of: column) ?? first.count, column)
  }

  private static func camelCase(_ column: String) -> String {
    let words = column.split(separator: "_")
    return words.prefix(1).joined() + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
  }
}
