import AdClient

/// Where the faults' own devices live, as an app's objects live on its main actor (D13).
@globalActor
actor FaultActor {
  static let shared = FaultActor()
}

/// The devices of a fault that have no end yet.
@FaultActor
final class FaultDevices {
  private var present: [String: FaultDevice] = [:]

  nonisolated init() {}

  /// Adds one for a client, until its end.
  func add(
    _ place: FaultDevice.Place, client: String, via transport: AdTransport, isShown: Bool,
    end: @escaping @FaultActor (AdContent?) -> Void
  ) {
    present[client] = try? FaultDevice(place, client: client, via: transport, isShown: isShown) { [self] ad in
      present[client] = nil
      end(ad)
    }
  }
}

/// A device of a fault's own: a client of the SDK with one banner, which asks once and is given up when it has what it is for.
@FaultActor
final class FaultDevice {
  /// Whose app it is, and where its banner stands.
  struct Place: Sendable {
    var app: String
    var key: String
    var placement: String
  }

  private let banner: Banner
  private let isShown: Bool
  private var end: (@FaultActor (AdContent?) -> Void)?

  /// - Parameters:
  ///   - isShown: Whether its user sees the ad; else it ends as soon as the ad is loaded.
  ///   - end: Hears of the ad; of nil where there was none.
  init(
    _ place: Place, client: String, via transport: AdTransport, isShown: Bool,
    end: @escaping @FaultActor (AdContent?) -> Void
  ) throws {
    var options = AdClientOptions()
    (options.clientID, options.country, options.device) = (client, Country("US"), .phone)
    (options.storage, options.fetchesImages) = (.none, false)
    banner = try Banner(
      client: AdNetworkClient(app: place.app, key: place.key, via: transport, options: options),
      placement: place.placement)
    self.isShown = isShown
    self.end = end
    banner.handler = { [weak self] in self?.heard($0) }
  }

  private func heard(_ event: BannerEvent) {
    switch event {
    case .told(.didLoad) where isShown: banner.visibleFractionChanged(to: 1)
    case .told(.didLoad), .paid: finish(banner.loadedAd)
    case .told(.didFail): finish(nil)
    default: break
    }
  }

  private func finish(_ ad: AdContent?) {
    guard let end else { return }
    self.end = nil
    banner.stop()
    end(ad)
  }
}
