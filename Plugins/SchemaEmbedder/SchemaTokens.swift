/// The words, numbers, texts and signs of a file of the schema, each with the comment that stands right above its line.
struct SchemaTokens {
  struct Token {
    let text: String
    let line: Int
    /// Of the first one in its line, in one line; else empty.
    let comment: String
  }

  private(set) var tokens: [Token] = []

  init(_ text: String, file: String) throws {
    var comment: [String] = []
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let content = line.drop(while: \.isWhitespace)
      if content.hasPrefix("//") {
        comment.append(String(content.dropFirst(2).drop(while: \.isWhitespace)))
      } else {
        try add(content, number: index + 1, comment: comment.joined(separator: " "), file: file)
        comment = []
      }
    }
  }

  private mutating func add(_ line: Substring, number: Int, comment: String, file: String) throws {
    var rest = line
    var comment = comment
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
      tokens.append(Token(text: String(token), line: number, comment: comment))
      comment = ""
      rest = rest[token.endIndex...]
    }
  }

  private static func isWord(_ character: Character) -> Bool {
    character.isASCII && (character.isLetter || character.isNumber) || character == "_" || character == "."
  }
}
