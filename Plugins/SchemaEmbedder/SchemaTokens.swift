/// The words, numbers, texts and signs of a file of the schema, without its comments.
struct SchemaTokens {
  struct Token {
    let text: String
    let line: Int
  }

  private(set) var tokens: [Token] = []

  init(_ text: String, file: String) throws {
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      try add(line, number: index + 1, file: file)
    }
  }

  private mutating func add(_ line: Substring, number: Int, file: String) throws {
    var rest = line
    while let first = rest.first {
      let token: Substring
      if first.isWhitespace {
        rest = rest.dropFirst()
        continue
      } else if rest.hasPrefix("//") {
        return
      } else if first == "\"" {
        let inside = rest.dropFirst().prefix { $0 != "\"" }
        guard inside.endIndex < rest.endIndex else {
          throw SchemaProblem(place: .init(file: file, line: number), text: "a text does not end")
        }
        token = rest[...inside.endIndex]
      } else if SchemaTokens.isWord(first) {
        token = rest.prefix(while: SchemaTokens.isWord)
      } else if "{}=;-,".contains(first) {
        token = rest.prefix(1)
      } else {
        throw SchemaProblem(
          place: .init(file: file, line: number), text: "the schema is plain proto3 without options: no \(first)")
      }
      tokens.append(Token(text: String(token), line: number))
      rest = rest[token.endIndex...]
    }
  }

  private static func isWord(_ character: Character) -> Bool {
    character.isASCII && (character.isLetter || character.isNumber) || character == "_" || character == "."
  }
}
