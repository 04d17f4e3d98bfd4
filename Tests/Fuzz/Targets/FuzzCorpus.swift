import Crypto

/// The inputs of one target that are worth keeping, as one text: an input a line, in base64, the shortest first.
package enum FuzzCorpus {
  /// The most that is kept of one target, in characters: the corpus lies in the repository and runs with the tests.
  package static let charactersMaximum = 12_000

  /// The inputs of a text; nil where a line is no base64.
  package static func inputs(_ text: String) -> [[UInt8]]? {
    var inputs: [[UInt8]] = []
    for line in text.split(separator: "\n") {
      guard let input = Base64.decode(String(line)) else { return nil }
      inputs.append(input)
    }
    return inputs
  }

  /// The text of `inputs`: without repetitions, the shortest first, and as many as there is room for.
  package static func text(_ inputs: some Sequence<[UInt8]>) -> String {
    let sorted = Set(inputs).filter { !$0.isEmpty }.sorted {
      $0.count == $1.count ? $0.lexicographicallyPrecedes($1) : $0.count < $1.count
    }
    var text = ""
    for input in sorted {
      let line = Base64.encode(input) + "\n"
      guard text.utf8.count + line.utf8.count <= charactersMaximum else { break }
      text += line
    }
    return text
  }
}
