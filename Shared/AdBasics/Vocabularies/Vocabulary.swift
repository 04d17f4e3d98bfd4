/// Numbers with public meaning, of which this is the only list: they are stored and published, so a number never changes
/// its meaning. The database gets the words when it is migrated (`reporting.vocabulary`, and a function for each
/// vocabulary); views, dashboards, `explain` and metrics show them.
package protocol Vocabulary: RawRepresentable, CaseIterable, Hashable, Sendable where RawValue: FixedWidthInteger {
  /// The vocabulary's own name, such as `charge_fate`.
  static var vocabulary: String { get }
  /// For programs, such as `noAllotment`: it never changes, and is another for each number.
  var name: String { get }
  /// The rule behind it, such as `M4`; nil where it follows from none.
  var rule: String? { get }
  /// For people.
  var meaning: String { get }
}

extension Vocabulary {
  package var name: String { "\(self)" }
  package var rule: String? { nil }
  /// As tables hold it.
  package var number: Int16 { Int16(clamping: rawValue) }

  /// Nil for any other text than a ``name``.
  package init?(name: String) {
    guard let word = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = word
  }

  static var words: [VocabularyWord] {
    allCases.map {
      VocabularyWord(
        vocabulary: vocabulary, number: $0.number, name: $0.name, rule: $0.rule, meaning: $0.meaning)
    }
  }
}

extension Sequence where Element: Vocabulary {
  /// As a list of SQL, such as `1, 2, 3`.
  package var numbers: String { map { "\($0.number)" }.joined(separator: ", ") }
}

/// A number and what it says.
package struct VocabularyWord: Hashable, Sendable {
  package let vocabulary: String
  package let number: Int16
  package let name: String
  package let rule: String?
  package let meaning: String
}

/// All of them.
package enum Vocabularies {
  private static let types: [any Vocabulary.Type] = [
    AdAction.Kind.self, AdError.self, AdSize.self, AgentClass.self, AllotmentState.self, AnomalyKind.self,
    ChargeFate.self, ChargeKind.self, ClickVerdict.self, ConversionKind.self, DecisionReason.self, Device.self,
    EdgeReason.self, HoldReason.self, NoServeReason.self, Outcome.self, PaidAdsState.self, RecordedKind.self,
    RejectionReason.self, TapKind.self,
  ]

  /// Each vocabulary's words, by its name.
  package static let all = types.map { (name: $0.vocabulary, words: $0.words) }.sorted { $0.name < $1.name }
}
