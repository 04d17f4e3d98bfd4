/// One decoder, and what must hold whatever bytes it is fed.
///
/// A target is fed by the fuzzer (`make fuzz`), which looks for bytes that reach code not reached before, and by the
/// tests, which feed it every input that the fuzzer found worth keeping. A trap ends the process by itself.
package struct FuzzTarget: Sendable, CustomStringConvertible {
  /// As the fuzzer, the corpus and the log of a run call it.
  package let name: String
  /// The longest input that can reach more than a shorter one, in bytes.
  package let inputBytesMaximum: Int
  /// Words that the format is made of: the fuzzer puts them into its inputs.
  package let words: [String]
  /// Inputs to begin with, made from real values.
  package let seeds: @Sendable () -> [[UInt8]]
  /// What went against the rules, in a sentence; nil where all held.
  package let fault: @Sendable (UnsafeRawBufferPointer) -> String?

  init(
    _ name: String, inputBytesMaximum: Int = 4_096, words: [String] = [],
    seeds: @escaping @Sendable () -> [[UInt8]], fault: @escaping @Sendable (UnsafeRawBufferPointer) -> String?
  ) {
    self.name = name
    self.inputBytesMaximum = inputBytesMaximum
    self.words = words
    self.seeds = seeds
    self.fault = fault
  }

  package var description: String { name }

  /// All of them; a decoder that strangers or people feed belongs here.
  package static let all: [FuzzTarget] =
    MessageTargets.all + [
      EdgeBodyTarget.target, HeaderTarget.target, TokenTarget.target, ForwardingTarget.target,
      MessageMACTarget.target, TimelineMarkTarget.target, EdgeMarkTarget.target,
      CatalogueFileTarget.target,
      ConsoleQueryTarget.target, ConfigurationTarget.target, LogTextTarget.target,
    ]

  /// The target of that name.
  package static func named(_ name: String) -> FuzzTarget? { all.first { $0.name == name } }
}

extension UnsafeRawBufferPointer {
  /// Without the first `count` bytes, or all of them where there are not as many.
  func dropping(_ count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: self[Swift.min(count, self.count)...])
  }

  /// Text of whatever these bytes are.
  var text: String { String(decoding: self, as: UTF8.self) }
}
