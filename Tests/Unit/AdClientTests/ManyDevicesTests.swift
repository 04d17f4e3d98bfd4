import AdClient
import Foundation
import Testing

@Suite("Many devices in one process")
struct ManyDevicesTests {
  @Test("10,000 virtual devices, each with a client and a banner that shows an ad, live within 200 MB")
  func memory() async {
    await #expect(processExitsWith: .success) {
      let kilobytes = try await ManyDevicesTests.residentKilobytes(devices: 10_000)
      exit(kilobytes > 0 && kilobytes <= 200 * 1_024 ? 0 : 1)
    }
  }

  /// What the process takes once all of them show their ad.
  @MainActor
  private static func residentKilobytes(devices: Int) async throws -> Int {
    let transport = AdTransport.inMemory()
    let (loads, sink) = AsyncStream<Void>.makeStream()
    var banners: [Banner] = []
    for number in 0..<devices {
      var options = AdClientOptions()
      options.clientID = "client-\(number)"
      options.country = Country("US")
      options.storage = .none
      let client = try AdNetworkClient(app: sampleApp, key: "key", via: transport, options: options)
      let banner = try Banner(client: client, placement: "home")
      banner.handler = { event in
        if event == .told(.didLoad) { sink.yield() }
      }
      banners.append(banner)
    }
    var loaded = 0
    for await _ in loads {
      banners[loaded].visibleFractionChanged(to: 1)
      loaded += 1
      if loaded == devices { break }
    }
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
  }
}
