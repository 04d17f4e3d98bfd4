internal import Foundation
internal import Runtime

/// Results as JSON on standard output, for programs.
enum JSONOutput {
  /// Writes `value` with sorted keys, so that equal results are equal text.
  static func print(_ value: some Encodable) throws {
    Terminal.print(try text(value))
  }

  static func text(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }
}
