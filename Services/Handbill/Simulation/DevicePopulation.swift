internal import AdClient
internal import AdCore

/// Who visits which app with what: drawn from the seed network's apps.
struct DevicePopulation: Sendable {
  /// One visit: who comes, and what for.
  struct Visitor: Sendable {
    let app: AppID
    let appKey: String
    /// Nil where the user, or the app's audience, has none (A8).
    let clientID: String?
    let country: Country
    let device: Device
    let wish: Wish
  }

  /// What an app shows.
  struct Wish: Sendable {
    enum Form: Hashable, Sendable {
      case banner
      /// Full screen, over the app.
      case modal
      /// Full screen, as a page of the app.
      case page
    }

    let form: Form
    let placement: String
    var requiredSizes: [String] = []
  }

  private let apps: [(value: AppID, weight: Int)]
  private let settings: SimulationSettings
  /// Two of them are countries where the seed network does not operate (A5).
  private static let countries: [(value: Country, weight: Int)] = [
    ("DE", 30), ("US", 30), ("GB", 15), ("FR", 15), ("JP", 5), ("SE", 5),
  ].compactMap { code, weight in Country(code).map { ($0, weight) } }
  private static let builds: [(value: BuildKind, weight: Int)] = [(.developer, 1), (.adHoc, 2)]

  init(apps: [AppID], settings: SimulationSettings) {
    // A few apps have most of the users; one that is not set up has few.
    self.apps = apps.enumerated().map { index, app in (app, max(2, 24 / (index + 1))) }
    self.settings = settings
  }

  /// The next visit. A device keeps its country, kind and client id over its visits (its app's reset aside).
  ///
  /// Client ids are new in each run, or the network would remember the taps of an earlier one.
  func visitor(_ chance: inout SeededChance) -> Visitor {
    let device = Int.random(in: 0..<max(1, settings.deviceCount), using: &chance)
    var own = SeededChance(seed: settings.seed &+ UInt64(device) &* 0x1_0001)
    var names = SeededChance(seed: settings.run &+ UInt64(device) &* 0x1_0001)
    let country = own.choose(Self.countries)
    let kind: Device = own.chance(7_500) ? .phone : .pad
    let limitsTracking = own.chance(1_000)
    let clientID = names.hexadecimal(digits: 24)
    let build = own.chance(settings.testBuildBasisPoints) ? own.choose(Self.builds) : .distribution
    let app = chance.choose(apps)
    return Visitor(
      app: app, appKey: SeedNetwork.key(app, build),
      // Also in apps for users under 17, as of any app that does not know better: the network takes none there (A4).
      clientID: limitsTracking ? nil : clientID, country: country, device: kind,
      wish: wish(kind, &chance))
  }

  private func wish(_ device: Device, _ chance: inout SeededChance) -> Wish {
    if device == .pad, chance.chance(2_000) {
      return chance.chance(5_000)
        ? Wish(form: .modal, placement: "between-levels") : Wish(form: .page, placement: "magazine")
    }
    if chance.chance(1_500) {
      return Wish(form: .banner, placement: "list", requiredSizes: [SizeIdentifier.mediumRectangle])
    }
    return Wish(form: .banner, placement: "main")
  }
}
