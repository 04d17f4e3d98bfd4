public import AdBasics
internal import Foundation

/// What an app may say about itself and its device; everything has a default.
public struct AdClientOptions: Sendable {
  /// The kind of device: a pad shows full-screen ads as well (S5).
  public var device = Device.phone
  /// The country; nil takes the one of the user's settings.
  public var country: Country?
  /// The client id, where the app has one of its own for its user, as a server has: 1 to 128 bytes, and no name of a
  /// person or a device (A8). Nil makes a random one, and keeps it.
  public var clientID: String?
  /// True where the user limits tracking: no client id is made, kept or sent (A8).
  public var limitsTracking = false
  /// What the app says about its user's interests; campaigns may target them (A6).
  public var segments: [String] = []
  /// Whether the client fetches the images of ads and checks them, so that an ad is loaded once they are here and a wrong one
  /// is error 8; see ``AdImages``. False where the app's own drawing fetches them, and in a process of many clients, of which
  /// each keeps images of its own.
  public var fetchesImages = true
  /// The most bytes of images that are kept.
  public var imageBytesMaximum = 20 * 1_048_576
  /// Where the client keeps what must outlive the app's process.
  public var storage = AdStorage.standard
  /// How long a request waits for its answer, in milliseconds, 1 to 60,000.
  public var requestDeadlineMilliseconds: Int64 = 10_000
  /// A clock that a unit test moves; nil is the device's.
  public var testClock: AdTestClock?
  /// Hears what the client does; nil keeps it quiet.
  public var log: AdLog?

  public init() {}

  /// What counts where neither the app nor the device says a country: ISO 3166's "user-assigned", where no ads are.
  static let nowhere = "ZZ"

  var resolvedCountry: Country? {
    country ?? Locale.current.region.flatMap { Country($0.identifier) } ?? Country(AdClientOptions.nowhere)
  }
}

/// Where the client keeps its queue of events and its client id.
public struct AdStorage: Hashable, Sendable {
  enum Location: Hashable {
    case standard
    case folder(String)
    case memory
    case none
  }

  let location: Location

  /// A folder of the app's own among those that the system keeps; with `.inMemory()`, memory.
  public static let standard = AdStorage(location: .standard)
  /// Nothing outlives the process: for tests and previews.
  public static let memory = AdStorage(location: .memory)

  /// Nothing is kept beside what the transport holds on its way: for a process that has many clients, as a server has.
  /// Events wait while the process lives, as many as the transport takes.
  public static let none = AdStorage(location: .none)

  /// In this folder, which is made if it is not there.
  public static func folder(_ path: String) -> AdStorage { AdStorage(location: .folder(path)) }

  /// The folder of the app's images; nil for memory.
  func imageFolder(for app: AppID) -> URL? {
    (try? folder()).flatMap { $0?.appendingPathComponent("\(app.text)-images", isDirectory: true) }
  }

  /// The path of the app's database; nil for memory. Makes the folder.
  func path(for app: AppID) throws -> String? {
    guard let folder = try folder() else { return nil }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder.appendingPathComponent("\(app.text).sqlite").path
  }

  private func folder() throws -> URL? {
    switch location {
    case .memory, .none: return nil
    case .folder(let path): return URL(fileURLWithPath: path, isDirectory: true)
    case .standard:
      let support = try FileManager.default.url(
        for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
      return support.appendingPathComponent("handbill", isDirectory: true)
    }
  }
}
