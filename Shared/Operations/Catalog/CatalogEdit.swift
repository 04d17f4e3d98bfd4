internal import AdCore
internal import JSON

/// Changes single members of a record's JSON, as `catalog set` asks for it.
enum CatalogEdit {
  /// The body with each member set to its value; what cannot be set is a problem.
  static func apply(
    _ members: [(path: String, value: String)], to body: JSONValue, kind: CatalogKind, key: String,
    problems: inout [CatalogProblem]
  ) -> JSONValue {
    var body = body
    for (path, text) in members {
      let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      guard let shape = shape(names[...], in: kind.fields) else {
        let known = kind.fields.map(\.name).joined(separator: ", ")
        problems.append(CatalogProblem("\(key).\(path.prefix(80))", "is no member here: there are \(known)"))
        continue
      }
      guard let value = value(text, shape) else {
        problems.append(CatalogProblem("\(key).\(path)", "cannot be set to this text: \(expectation(shape))"))
        continue
      }
      body = replacing(names[...], in: body, by: value)
    }
    return body
  }

  private static func shape(_ names: ArraySlice<String>, in fields: [CatalogField]) -> CatalogShape? {
    guard let name = names.first, let field = fields.first(where: { $0.name == name }) else { return nil }
    let rest = names.dropFirst()
    if rest.isEmpty { return field.shape }
    switch field.shape {
    case .object(let inner): return shape(rest, in: inner)
    case .map(let known, let inner): return rest.count == 1 && known.contains(rest[rest.startIndex]) ? inner : nil
    case .currencies(let inner): return rest.count == 1 && Currency(rest[rest.startIndex]) != nil ? inner : nil
    default: return nil
    }
  }

  private static func value(_ text: String, _ shape: CatalogShape) -> JSONValue? {
    switch shape {
    case .slug, .text, .url, .image, .currency, .money, .pricePerThousand, .moment, .choice, .hexadecimal:
      return .text(text)
    case .flag: return text == "true" ? true : text == "false" ? false : nil
    case .integer: return Int64(text).map { .integer($0) }
    case .nullable(let inner): return text == "null" ? .null : value(text, inner)
    case .list:
      let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { part in
        String(part.drop { $0 == " " })
      }
      return .texts(text.isEmpty ? [] : parts)
    case .map, .currencies, .object: return nil
    }
  }

  private static func expectation(_ shape: CatalogShape) -> String {
    switch shape {
    case .flag: "give true or false"
    case .nullable: "give null or what it says otherwise"
    case .integer: "give a whole number"
    case .map, .currencies, .object: "name one of its members, with a dot between"
    default: "give a text"
    }
  }

  private static func replacing(_ names: ArraySlice<String>, in value: JSONValue, by new: JSONValue) -> JSONValue {
    guard let name = names.first else { return new }
    var members: [JSONValue.Member] = []
    if case .object(let list) = value { members = list }
    let old = members.first { $0.name == name }?.value ?? .object([])
    let member = JSONValue.Member(name, replacing(names.dropFirst(), in: old, by: new))
    if let index = members.firstIndex(where: { $0.name == name }) {
      members[index] = member
    } else {
      members.append(member)
    }
    return .object(members)
  }
}
