/// What is wrong with a record of the catalogue, and what to change.
public struct CatalogFault: Error, Hashable, Sendable, CustomStringConvertible {
  /// The field, as in `images.portrait` or `shareBasisPoints`.
  public var field: String
  /// What to change.
  public var advice: String

  public init(_ field: String, _ advice: String) {
    self.field = field
    self.advice = advice
  }

  public var description: String { "\(field): \(advice)" }
}

/// The limits of what a record may hold.
public enum CatalogLimits {
  /// The longest name, in bytes.
  public static let nameBytesMaximum = 200
  /// The longest category, keyword or segment, in bytes.
  public static let termBytesMaximum = 64
  /// The most entries of a set.
  public static let entriesMaximum = 200
  /// The highest price of one impression or click: two of them, and what a batch of them adds, stay far from overflow.
  public static let priceMaximum = Nanos(100_000_000_000_000_000)
  /// The content's life that an ad may have (D5), in milliseconds.
  public static let lifetimeMilliseconds: ClosedRange<Int64> = 5 * 60_000...15 * 60_000
}

extension CatalogRecord {
  /// All that is wrong with this record by itself; empty for a good one. What it must agree with in other records is
  /// checked by ``Ad/faults(in:)`` and ``PrimaryAudience``.
  public func faults() -> [CatalogFault] {
    switch self {
    case .advertiser(let advertiser): advertiser.faults()
    case .campaign(let campaign): campaign.faults()
    case .ad(let ad): ad.faults()
    case .developer(let developer): FaultList { $0.checkName(developer.name) }.faults
    case .app(let app): app.faults()
    case .appKey(let key): key.faults()
    case .settings(let settings): settings.faults()
    case .standing(let standing): standing.faults()
    }
  }
}

/// Collects faults, so that a person is told all of them at once.
struct FaultList {
  private(set) var faults: [CatalogFault] = []

  init(_ checks: (inout FaultList) -> Void) { checks(&self) }

  mutating func require(_ isGood: Bool, _ field: String, _ advice: @autoclosure () -> String) {
    if !isGood { faults.append(CatalogFault(field, advice())) }
  }

  mutating func checkName(_ name: String) {
    let isPrintable = name.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    let isFilled = name.contains { !$0.isWhitespace }
    require(
      isFilled && isPrintable && name.utf8.count <= CatalogLimits.nameBytesMaximum, "name",
      "give a name of 1 to \(CatalogLimits.nameBytesMaximum) bytes without control characters")
  }

  mutating func checkPrice(_ price: Nanos, _ field: String) {
    require(price >= .zero, field, "it is \(MoneyText.format(price)): a price is 0 or more")
    require(
      price <= CatalogLimits.priceMaximum, field,
      "it is \(MoneyText.format(price)): a price is at most \(MoneyText.format(CatalogLimits.priceMaximum))")
  }

  mutating func checkBudget(_ budget: Int128, _ field: String) {
    require(budget >= 0, field, "it is \(MoneyText.format(budget)): give 0 or more")
    require(
      budget <= Nanos.sumMaximum, field, "it is more than \(MoneyText.format(Nanos.sumMaximum)): give a smaller one")
  }

  /// Categories, keywords, segments: compared as they are written, and so in one form only.
  mutating func checkTerms(_ terms: Set<String>, _ field: String) {
    checkCount(terms.count, field)
    for term in terms.sorted() {
      let isPrintable = term.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
      let isTrimmed = term.first?.isWhitespace == false && term.last?.isWhitespace == false
      require(
        isTrimmed && isPrintable && term == term.lowercased() && term.utf8.count <= CatalogLimits.termBytesMaximum,
        field,
        "“\(term.prefix(80))” must be 1 to \(CatalogLimits.termBytesMaximum) bytes in lower case, without control "
          + "characters and without spaces at its ends")
    }
  }

  mutating func checkCount(_ count: Int, _ field: String) {
    require(
      count <= CatalogLimits.entriesMaximum, field,
      "it has \(count) entries: leave at most \(CatalogLimits.entriesMaximum)")
  }
}
