internal import AdBasics

/// The mistakes of one record, gathered while it is read: whoever wrote it is told all of them at once, not one a day.
struct Mistakes {
  /// The most that are kept; a record of nothing but mistakes costs no more.
  private static let countMaximum = 32
  /// Fields of a message that are wrong in themselves; behind so many nobody reads on.
  private static let wrongFieldsMaximum = 256

  private var found: [Rejection] = []
  /// Whether all fields were seen: else nobody can say that one is missing.
  private(set) var isReadWhole = true

  var isEmpty: Bool { found.isEmpty }

  mutating func add(_ rejection: Rejection) {
    for mistake in [rejection] + rejection.further where found.count < Self.countMaximum {
      let isKnown = found.contains { $0.sentence == mistake.sentence }
      // What could not be read is not missing as well.
      let isAbsence = mistake.reason == .missingField || mistake.sentence.hasSuffix(" is missing")
      let isConsequence = isAbsence && isTold(of: mistake.sentence.prefix { $0 != " " } + " ")
      if isKnown || isConsequence { continue }
      var single = mistake
      single.further = []
      found.append(single)
    }
  }

  /// Those of a message within this one, by the name of its field.
  mutating func add(_ within: Mistakes, in name: String) {
    for mistake in within.found { add(Rejection(mistake.reason, "\(name).\(mistake.sentence)")) }
  }

  /// Reads the fields of a message one by one, on behind each that is wrong in itself, as far as the bytes are protobuf.
  @inline(__always)
  mutating func read(_ bytes: UnsafeRawBufferPointer, _ field: (inout WireReader) throws(Rejection) -> Void) {
    var reader = WireReader(bytes)
    var wrongFields = 0
    while true {
      do throws(Rejection) {
        guard try reader.next() else { return }
        try field(&reader)
      } catch {
        add(error)
        wrongFields += 1
        // Where the next field begins is not known.
        if error.reason == .malformed || wrongFields == Self.wrongFieldsMaximum {
          isReadWhole = false
          return
        }
      }
    }
  }

  /// The value of a field that has to be there.
  @inline(__always)
  mutating func required<Value>(_ value: Value?, _ name: StaticString) -> Value? {
    if value == nil { addMissing("\(name) is missing") }
    return value
  }

  mutating func required(_ value: String, _ name: StaticString) -> String {
    if value.isEmpty { addMissing("\(name) is missing") }
    return value
  }

  /// A mistake that is none where the rest of the message could not be read.
  mutating func addMissing(_ sentence: @autoclosure () -> String) {
    if isReadWhole { add(Rejection(.missingField, sentence())) }
  }

  /// Whether a mistake is about a field whose name begins so.
  func isTold(of name: some StringProtocol) -> Bool { found.contains { $0.sentence.hasPrefix(name) } }

  /// All of them, as the rejection for the first; nil where there is none.
  var rejection: Rejection? {
    // Of what is told without consent nothing else matters, and nothing is said (A8).
    if let refusal = found.first(where: { $0.reason == .consentMissing }) { return refusal }
    guard var rejection = found.first else { return nil }
    rejection.further = Array(found.dropFirst())
    return rejection
  }

  /// The mistakes; of a record that has none and still lacks a value, that it cannot be read.
  var thrown: Rejection { rejection ?? Rejection(.malformed, "the message cannot be read") }
}
