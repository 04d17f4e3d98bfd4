/// How much of what could be sold an app is offered, for what it lets become of ads' actions (A7). The console measures it
/// and is the only one to write it; an app without one is offered everything.
public struct AppStanding: Hashable, Sendable {
  /// All of it, in the unit of ``offerPartsPerMillion``.
  public static let whole: Int64 = 1_000_000

  public var app: AppID
  /// Of a million requests so many may get a paid ad.
  public var offerPartsPerMillion: Int64
  /// Ads whose action the app blocked or cancelled, each once, over the days that count.
  public var stopped: Int64
  /// Ads that were tapped, each once, over the same days; those that were stopped are among them.
  public var tapped: Int64

  public init(app: AppID, offerPartsPerMillion: Int64, stopped: Int64, tapped: Int64) {
    self.app = app
    self.offerPartsPerMillion = offerPartsPerMillion
    self.stopped = stopped
    self.tapped = tapped
  }

  /// Of a hundred requests so many may get a paid ad.
  package var offeredPercent: Hundredths {
    Hundredths.percent(offerPartsPerMillion, of: AppStanding.whole) ?? Hundredths(0)
  }

  func faults() -> [CatalogFault] {
    FaultList { list in
      list.require(
        (0...AppStanding.whole).contains(offerPartsPerMillion), "offerPartsPerMillion",
        "it is \(offerPartsPerMillion): give 0 to \(AppStanding.whole)")
      list.require(
        (0...max(0, tapped)).contains(stopped), "stopped",
        "it is \(stopped) of \(tapped): no more are stopped than tapped")
    }.faults
  }
}

/// What the network's settings say of standings (A7).
public struct StandingRules: Hashable, Sendable {
  /// The bounds of ``days``.
  public static let daysRange: ClosedRange<Int64> = 1...30
  /// The bounds of ``priorTaps``.
  public static let priorTapsRange: ClosedRange<Int64> = 0...1_000_000
  /// All, in basis points.
  public static let wholeBasisPoints: Int64 = 10_000
  /// An app's standing is written when its offer has moved by at least so many parts per million.
  package static let stepPartsPerMillion: Int64 = 10_000

  /// How many days count, today included: each less than the one after it, so that nothing ends at once.
  public var days: Int64
  /// Taps without a stopped action that every app is taken to have had, so that few taps say little.
  public var priorTaps: Int64
  /// The share of stopped actions up to which everything is offered.
  public var toleratedBasisPoints: Int64
  /// What is offered to an app that stops every action.
  public var floorBasisPoints: Int64

  public init(
    days: Int64 = 7, priorTaps: Int64 = 100, toleratedBasisPoints: Int64 = 2_000, floorBasisPoints: Int64 = 2_000
  ) {
    self.days = days
    self.priorTaps = priorTaps
    self.toleratedBasisPoints = toleratedBasisPoints
    self.floorBasisPoints = floorBasisPoints
  }

  func faults(_ list: inout FaultList) {
    for (name, value, range) in [
      ("days", days, Self.daysRange), ("priorTaps", priorTaps, Self.priorTapsRange),
      ("toleratedBasisPoints", toleratedBasisPoints, 0...Self.wholeBasisPoints),
      ("floorBasisPoints", floorBasisPoints, 0...Self.wholeBasisPoints),
    ] {
      list.require(
        range.contains(value), "standing.\(name)",
        "it is \(value): give \(range.lowerBound) to \(range.upperBound) (A7)")
    }
  }
}

/// What became of the ads of an app that were tapped on one day.
package struct ActionDay: Hashable, Sendable {
  /// 0 for today, 1 for yesterday.
  package var daysAgo: Int64
  package var stopped: Int64
  package var tapped: Int64

  package init(daysAgo: Int64, stopped: Int64, tapped: Int64) {
    self.daysAgo = daysAgo
    self.stopped = stopped
    self.tapped = tapped
  }
}

extension StandingRules {
  /// What days come to. A day weighs the less the longer ago it was, and those beyond ``days`` weigh nothing; the share of
  /// stopped actions, with the prior's taps among all, lowers the offer in a straight line from what is tolerated on: so
  /// the offer has no cliff, and comes back as days pass.
  package func standing(of app: AppID, _ told: [ActionDay]) -> AppStanding {
    let counting = told.filter { (0..<days).contains($0.daysAgo) }
    let weight = { (day: ActionDay) in Int128(days - day.daysAgo) }
    let stopped = counting.reduce(Int128(0)) { $0 + weight($1) * Int128($1.stopped) }
    let tapped = counting.reduce(Int128(0)) { $0 + weight($1) * Int128($1.tapped) } + Int128(days) * Int128(priorTaps)
    return AppStanding(
      app: app, offerPartsPerMillion: offer(stopped: stopped, tapped: tapped),
      stopped: counting.reduce(0) { $0 + $1.stopped }, tapped: counting.reduce(0) { $0 + $1.tapped })
  }

  private func offer(stopped: Int128, tapped: Int128) -> Int64 {
    let whole = Int128(AppStanding.whole)
    let unit = AppStanding.whole / Self.wholeBasisPoints
    let tolerated = Int128(toleratedBasisPoints * unit)
    let share = tapped > 0 ? stopped * whole / tapped : 0
    guard share > tolerated else { return AppStanding.whole }
    let lowered = (share - tolerated) * (whole - Int128(floorBasisPoints * unit)) / (whole - tolerated)
    return Int64(clamping: whole - lowered)
  }

  /// Whether what was measured is to be written in the place of the offer in force: small steps are not, but to the end
  /// and from it.
  package static func isNews(_ offer: Int64, inForce: Int64) -> Bool {
    offer != inForce && (abs(offer - inForce) >= stepPartsPerMillion || offer == AppStanding.whole)
  }
}
