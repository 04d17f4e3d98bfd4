/// Reads one file of the schema. It takes the part of proto3 that the schema uses (messages, enums, oneofs, repeated
/// fields, reserved numbers) and refuses everything else, so that nothing is ever left out of the table in silence.
struct SchemaParser {
  private(set) var messages: [String: [Schema.Field]] = [:]
  private(set) var enums: [String: [Schema.Value]] = [:]
  /// Where each message and enum is declared.
  private(set) var names: [String: SchemaProblem.Place] = [:]
  /// What the file says of its declarations, by full name: of messages, enums, their fields, values and oneofs.
  private(set) var comments: [String: String] = [:]

  private let tokens: [SchemaTokens.Token]
  private let file: String
  private var position = 0
  private var package = ""

  /// protobuf's numbers; those that it keeps for itself left out.
  private static let fieldNumbers = [1...18_999, 20_000...536_870_911]

  init(_ text: String, file: String) throws {
    tokens = try SchemaTokens(text, file: file).tokens
    self.file = file
  }

  mutating func parseFile() throws {
    try expect("syntax")
    try expect("=")
    try expect("\"proto3\"")
    try expect(";")
    while position < tokens.count {
      switch try next() {
      case "package": package = try statement()
      // All files of the schema are read together.
      case "import": _ = try statement()
      case "message": try parseMessage(within: package)
      case "enum": try parseEnum(within: package)
      case let word: throw problem("\(word) is not expected here")
      }
    }
  }

  private mutating func parseMessage(within scope: String) throws {
    let name = try declare(within: scope)
    try expect("{")
    var fields: [Schema.Field] = []
    var oneofs = 0
    while !take("}") {
      switch tokens[position...].first?.text {
      case "message":
        position += 1
        try parseMessage(within: name)
      case "enum":
        position += 1
        try parseEnum(within: name)
      case "reserved":
        while try next() != ";" {}
      case "oneof":
        let comment = tokens[position].comment
        position += 1
        note(comment, of: try name + "." + next())
        try expect("{")
        while !take("}") { fields.append(try parseField(oneof: oneofs, of: name)) }
        oneofs += 1
      default: fields.append(try parseField(oneof: nil, of: name))
      }
    }
    for (index, field) in fields.enumerated() {
      let isTaken = fields[..<index].contains { $0.number == field.number || $0.name == field.name }
      if isTaken { throw SchemaProblem(place: field.place, text: "\(field.name) = \(field.number) is taken") }
    }
    messages[name] = fields.sorted { $0.number < $1.number }
  }

  private mutating func parseField(oneof: Int?, of message: String) throws -> Schema.Field {
    let comment = nextComment
    let isRepeated = take("repeated")
    let type = try next()
    if ["optional", "required", "map", "group", "option", "extensions"].contains(type) {
      throw problem("the schema does not use \(type)")
    }
    let name = try next()
    note(comment, of: message + "." + name)
    try expect("=")
    let number = try integer()
    guard SchemaParser.fieldNumbers.contains(where: { $0.contains(number) }) else {
      throw problem("no field may have the number \(number)")
    }
    let place = place
    try expect(";")
    return Schema.Field(
      number: number, name: name, type: type, isRepeated: isRepeated, oneof: oneof, place: place)
  }

  private mutating func parseEnum(within scope: String) throws {
    let name = try declare(within: scope)
    try expect("{")
    var values: [Schema.Value] = []
    while !take("}") {
      let comment = nextComment
      let value = try next()
      note(comment, of: name + "." + value)
      try expect("=")
      values.append(Schema.Value(name: value, number: try integer()))
      try expect(";")
    }
    guard values.first?.number == 0 else { throw problem("the first value of \(name) is not 0") }
    enums[name] = values
  }

  private mutating func declare(within scope: String) throws -> String {
    let comment = tokens[position - 1].comment
    let name = try scope + "." + next()
    guard names.updateValue(place, forKey: name) == nil else { throw problem("\(name) is declared twice") }
    note(comment, of: name)
    return name
  }

  /// The comment above what comes next.
  private var nextComment: String { tokens[position...].first?.comment ?? "" }

  private mutating func note(_ comment: String, of name: String) {
    if !comment.isEmpty { comments[name] = comment }
  }

  /// The line of the word read last.
  private var place: SchemaProblem.Place {
    SchemaProblem.Place(file: file, line: tokens[..<position].last?.line ?? 1)
  }

  private func problem(_ text: String) -> SchemaProblem { SchemaProblem(place: place, text: text) }

  private mutating func next() throws -> String {
    guard position < tokens.count else { throw problem("the file ends in the middle") }
    position += 1
    return tokens[position - 1].text
  }

  private mutating func take(_ text: String) -> Bool {
    guard position < tokens.count, tokens[position].text == text else { return false }
    position += 1
    return true
  }

  private mutating func expect(_ text: String) throws {
    let found = try next()
    guard found == text else { throw problem("\(text) is expected, not \(found)") }
  }

  private mutating func statement() throws -> String {
    let word = try next()
    try expect(";")
    return word
  }

  private mutating func integer() throws -> Int {
    let sign = take("-") ? "-" : ""
    let word = try next()
    guard let number = Int(sign + word) else { throw problem("\(word) is not a number") }
    return number
  }
}
