internal import AdCore
internal import JSON

/// Reads the members of one object and collects all that is wrong with it. After a problem it answers with nil or a
/// default, so that reading goes on.
struct FieldReader {
  private let members: [String: JSONValue]
  private let path: String
  private(set) var problems: [CatalogProblem] = []

  /// - Parameter fields: the members that the object may have; others are problems.
  init(_ value: JSONValue, at path: String, fields: [CatalogField]) {
    self.path = path
    guard case .object(let list) = value else {
      members = [:]
      problems = [CatalogProblem(path, "must be an object with the members \(FieldReader.names(fields))")]
      return
    }
    members = Dictionary(list.map { ($0.name, $0.value) }) { first, _ in first }
    let known = Set(fields.map(\.name))
    for member in list where !known.contains(member.name) {
      note(String(member.name.prefix(80)), "is no member here: take it out, or use one of \(FieldReader.names(fields))")
    }
    for field in fields where field.isRequired && members[field.name] == nil {
      note(field.name, "is missing. \(field.help)")
    }
  }

  var isGood: Bool { problems.isEmpty }

  /// Where a member stands.
  func path(of name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

  mutating func note(_ name: String, _ advice: String) { problems.append(CatalogProblem(path(of: name), advice)) }

  mutating func text(_ name: String) -> String? {
    read(name, "must be a text") { $0.textValue }
  }

  mutating func flag(_ name: String, default defaultValue: Bool = false) -> Bool {
    read(name, "must be true or false") { value in
      if case .flag(let flag) = value { flag } else { nil }
    } ?? defaultValue
  }

  /// Nil for null as well as for an absent member.
  mutating func optionalFlag(_ name: String) -> Bool? {
    members[name] == .null ? nil : members[name].map { _ in flag(name) }
  }

  mutating func integer(_ name: String, in range: ClosedRange<Int64>, default defaultValue: Int64) -> Int64 {
    read(name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)") { value in
      value.integerValue.flatMap { range.contains($0) ? $0 : nil }
    } ?? defaultValue
  }

  mutating func identifier<Entity>(_ name: String) -> Identifier<Entity>? {
    read(name, "must be 1 to 40 of a-z, 0-9 and hyphens, not beginning with a hyphen") {
      $0.textValue.flatMap(Identifier<Entity>.init(_:))
    }
  }

  /// Nanos; an absent member, or null where that is allowed, is nil.
  mutating func money(_ name: String, isNullable: Bool = false, decimals: String = "nine") -> Int128? {
    if isNullable && members[name] == .null { return nil }
    return read(name, "must be an amount as text with a point and up to \(decimals) decimals, such as \"10.00\"") {
      $0.textValue.flatMap(MoneyText.parse)
    }
  }

  /// One event's amount.
  mutating func price(_ name: String) -> Nanos {
    guard let amount = money(name) else { return .zero }
    guard let price = Int64(exactly: amount) else {
      note(name, "is \(MoneyText.format(amount)): a price is at most \(MoneyText.format(CatalogLimits.priceMaximum))")
      return .zero
    }
    return Nanos(price)
  }

  /// The price of one impression, out of the price of a thousand.
  mutating func pricePerThousand(_ name: String) -> Nanos {
    guard let amount = money(name, decimals: "six") else { return .zero }
    guard amount % 1_000 == 0, let price = Int64(exactly: amount / 1_000) else {
      note(
        name, "is \(MoneyText.format(amount)): one impression costs a thousandth of it, so give at most six decimals")
      return .zero
    }
    return Nanos(price)
  }

  mutating func moment(_ name: String) -> Timestamp? {
    read(name, "must be a moment in UTC such as 2026-07-01T00:00:00Z") {
      $0.textValue.flatMap(Timestamp.init(utcText:))
    }
  }

  mutating func choice<Value>(_ name: String, _ values: [Value], _ naming: (Value) -> String) -> Value? {
    let list = values.map(naming).joined(separator: ", ")
    return read(name, "must be one of \(list)") { value in values.first { naming($0) == value.textValue } }
  }

  /// A list without repetition; an absent one is empty.
  mutating func set<Element: Hashable>(
    _ name: String, _ expectation: String, _ convert: (String) -> Element?
  ) -> Set<Element> {
    guard let value = members[name] else { return [] }
    guard let list = value.elements else {
      note(name, "must be a list: \(expectation)")
      return []
    }
    var set: Set<Element> = []
    for (index, element) in list.enumerated() {
      guard let converted = element.textValue.flatMap(convert) else {
        note("\(name)[\(index)]", "must be \(expectation)")
        continue
      }
      set.insert(converted)
    }
    return set
  }

  /// An object of names to values; an absent one is empty.
  mutating func map<Key: Hashable, Value>(
    _ name: String, _ expectation: String, _ convertKey: (String) -> Key?, _ convert: (JSONValue) -> Value?
  ) -> [Key: Value] {
    guard let object = members[name] else { return [:] }
    guard case .object(let list) = object else {
      note(name, "must be an object: \(expectation)")
      return [:]
    }
    var map: [Key: Value] = [:]
    for member in list {
      guard let key = convertKey(member.name), let value = convert(member.value) else {
        note("\(name).\(member.name.prefix(80))", "must be \(expectation)")
        continue
      }
      map[key] = value
    }
    return map
  }

  /// An object within this one; an absent one is read as empty if it is not required.
  mutating func object<Result>(
    _ name: String, _ fields: [CatalogField], _ read: (inout FieldReader) -> Result
  ) -> Result {
    var reader = FieldReader(
      members[name] ?? .object([]), at: path(of: name), fields: members[name] == nil ? [] : fields)
    let result = read(&reader)
    problems += reader.problems
    return result
  }

  private mutating func read<Value>(
    _ name: String, _ expectation: String, _ convert: (JSONValue) -> Value?
  ) -> Value? {
    guard let value = members[name] else { return nil }
    guard let converted = convert(value) else {
      note(name, expectation)
      return nil
    }
    return converted
  }

  private static func names(_ fields: [CatalogField]) -> String { fields.map(\.name).joined(separator: ", ") }
}
