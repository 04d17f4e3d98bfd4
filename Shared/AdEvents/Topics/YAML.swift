internal import JSON

/// As much of YAML as a generated document needs: maps in their order, lists, texts, numbers, truths.
indirect enum YAML {
  case text(String)
  case number(Int64)
  case truth(Bool)
  case null
  case list([YAML])
  case map([(key: String, value: YAML)])

  /// A reference within the document.
  static func reference(_ path: String) -> YAML { .map([("$ref", .text("#/" + path))]) }

  /// A map with further members; everything else as it is.
  func adding(_ members: [(key: String, value: YAML)]) -> YAML {
    if case .map(let own) = self { .map(own + members) } else { self }
  }

  /// The document's text, ending with a new line.
  func document() -> String {
    var output = ""
    write(to: &output, indentation: 0)
    return output
  }

  private var isEmptyOrScalar: Bool {
    switch self {
    case .text, .number, .truth, .null: true
    case .list(let elements): elements.isEmpty
    case .map(let members): members.isEmpty
    }
  }

  private var scalar: String {
    switch self {
    case .text(let text): JSONValue.text(text).compactText
    case .number(let number): String(number)
    case .truth(let truth): truth ? "true" : "false"
    case .null: "null"
    case .list: "[]"
    case .map: "{}"
    }
  }

  private func write(to output: inout String, indentation: Int) {
    let space = String(repeating: " ", count: indentation)
    switch self {
    case .map(let members):
      for (key, value) in members {
        output += space + YAML.key(key) + ":"
        value.writeValue(to: &output, indentation: indentation)
      }
    case .list(let elements):
      for element in elements {
        output += space + "-"
        element.writeValue(to: &output, indentation: indentation)
      }
    default: output += space + scalar + "\n"
    }
  }

  private func writeValue(to output: inout String, indentation: Int) {
    if isEmptyOrScalar {
      output += " " + scalar + "\n"
    } else {
      output += "\n"
      write(to: &output, indentation: indentation + 2)
    }
  }

  private static func key(_ key: String) -> String {
    let isPlain = key.unicodeScalars.allSatisfy { scalar in
      scalar.isASCII && scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
        || "._-".contains(Character(scalar))
    }
    return isPlain && key.unicodeScalars.first?.properties.isAlphabetic == true ? key : JSONValue.text(key).compactText
  }
}
