internal import AdCore

/// What a stored number means. The numbers are public and never change meaning.
struct StoredMeaning: Hashable, Sendable {
  /// For programs, such as `noAllotment`; within a version of the API it never changes.
  var name: String
  /// The rule behind it, such as `M4`; nil where it follows from none.
  var rule: String?
  /// For people: ends a sentence.
  var words: String

  init(_ name: String, _ rule: String?, _ words: String) {
    self.name = name
    self.rule = rule
    self.words = words
  }

  /// A number that this program does not know: a newer one wrote it.
  static func unknown(_ number: Int64) -> StoredMeaning {
    StoredMeaning("unknown", nil, "something that only a newer release knows (\(number))")
  }

  /// The words, with the rule in brackets.
  var text: String { words + (rule.map { " (\($0))" } ?? "") }
}

// MARK: Vocabularies

extension StoredMeaning {
  private init(_ word: some Vocabulary) { self.init(word.name, word.rule, word.meaning) }

  private static func of<Words: Vocabulary>(_ words: Words.Type, _ number: Int64) -> StoredMeaning {
    word(words, number).map { StoredMeaning($0) } ?? .unknown(number)
  }

  private static func word<Words: Vocabulary>(_: Words.Type, _ number: Int64) -> Words? {
    Words.RawValue(exactly: number).flatMap(Words.init(rawValue:))
  }

  /// Why a request was decided as it was.
  static func decisionReason(_ number: Int64) -> StoredMeaning { of(DecisionReason.self, number) }

  /// Why an ad was not eligible for a request.
  static func exclusion(_ number: Int64) -> StoredMeaning { of(NoServeReason.self, number) }

  /// A code of rules E: its name is what is said of it.
  static func error(_ number: Int64) -> StoredMeaning {
    guard let error = word(AdError.self, number) else { return .unknown(number) }
    return StoredMeaning(error.name, error.rule, error.name)
  }

  static func device(_ number: Int64) -> StoredMeaning {
    let device = word(Device.self, number)
    return StoredMeaning(device?.name ?? "unknown", nil, device?.name ?? "an unknown device")
  }

  static func size(_ number: Int64) -> StoredMeaning {
    let size = word(AdSize.self, number)
    return StoredMeaning(size?.name ?? "unknown", nil, size?.name ?? "an unknown size")
  }

  /// The names of a set of sizes.
  static func requiredSizes(_ bits: Int64) -> [String] {
    SizeBits(bits: Int32(truncatingIfNeeded: bits)).sizes.map(\.name)
  }

  static func agentClass(_ number: Int64) -> StoredMeaning { of(AgentClass.self, number) }
  static func paidAds(_ number: Int64) -> StoredMeaning { of(PaidAdsState.self, number) }
  static func action(_ number: Int64) -> StoredMeaning { of(AdAction.Kind.self, number) }
  static func deliveryKind(_ number: Int64) -> StoredMeaning { of(RecordedKind.self, number) }
  static func stoppedKind(_ number: Int64) -> StoredMeaning { of(TapKind.self, number) }
  static func conversionKind(_ number: Int64) -> StoredMeaning { of(ConversionKind.self, number) }
  static func chargeKind(_ number: Int64) -> StoredMeaning { of(ChargeKind.self, number) }
  static func verdict(_ number: Int64) -> StoredMeaning { of(ClickVerdict.self, number) }

  /// What became of an accepted event in billing; free clicks have their verdict besides.
  static func fate(_ number: Int64) -> StoredMeaning {
    guard case .free(let verdict)? = word(ChargeFate.self, number) else { return of(ChargeFate.self, number) }
    return StoredMeaning("free", verdict.rule, verdict.meaning)
  }

  /// Why a click is free in billing; nil for every other fate.
  static func verdict(ofFate number: Int64) -> StoredMeaning? {
    guard case .free(let verdict)? = word(ChargeFate.self, number) else { return nil }
    return StoredMeaning(verdict)
  }

  static func allotmentState(_ number: Int64) -> StoredMeaning { of(AllotmentState.self, number) }
}
