import AdClient
import AdEvents
import Foundation
import Kafka
import LocalProcesses
import Runtime
import TestValues
import Testing

extension WholeNetwork {
  /// One device with the SDK, at the real edge of a whole network.
  @Suite struct DeviceTests {
    private static let services = [
      "ad-selection", "impression-tracking", "click-tracking", "billing", "console", "edge",
    ]

    private static func network(_ edge: [String: String] = [:]) async throws -> TestNetwork {
      let network = try await TestNetwork.started(
        .init(
          services: services, apps: ["chess"], catalog: WholeNetwork.GoldenCaseTests.catalog,
          ownSettings: ["edge": edge]))
      try await onOwnThread { try network.awaitAllotments() }
      return network
    }

    @Test("Off line and killed twice, then on line: every event arrives once, in order, and is counted and billed")
    func killedTwice() async throws {
      let network = try await Self.network()
      defer { network.stop() }
      let (address, folder) = ("http://127.0.0.1:\(network.edgePort)", network.folder.path + "/device")
      for place in ["first", "second"] {
        await #expect(processExitsWith: .signal(SIGKILL)) {
          [address = address as String, folder = folder as String, place = place as String] in
          try await OfflineDevice.use(address, folder: folder, placement: place)
          kill(getpid(), SIGKILL)
        }
      }
      try await onOwnThread { Waiting.pause(milliseconds: 60_000 * offlineMinutes) }
      let client = try OfflineDevice.client(folder, via: .edge(address))
      #expect(client.eventsWaiting == 6)
      // And one that nobody looks at (D3).
      #expect(try await OfflineDevice.failure(client, placement: "unseen") == nil)
      #expect(await client.close(timeoutMilliseconds: 30_000))
      try await onOwnThread {
        func delivered(_ kind: String) -> String {
          "impression_tracking.delivery WHERE kind = vocabulary.delivery_kind('\(kind)')"
        }
        func judged(_ verdict: String) -> String {
          "click_tracking.click WHERE verdict = vocabulary.click_verdict('\(verdict)')"
        }
        for (rows, count) in [
          ("impression_tracking.impression", 2), (delivered("rendered"), 2), (judged("billable"), 1),
          (judged("limited"), 1),
          ("billing.charge WHERE fate = vocabulary.charge_fate('charged')", 3),
        ] {
          do { try network.awaitCount("SELECT count(*) FROM \(rows)", count) } catch { Issue.record(error) }
        }
        for (topic, count) in [(Topic.impressions, 6), (Topic.clicks, 2)] {
          let ids = try network.ids(in: topic)
          #expect(ids.count == count && Set(ids).count == count, "\(topic)")
          // An id begins with its time, to the millisecond: 48 bits.
          let times = ids.map { $0.prefix(13) }
          #expect(times == times.sorted(), "\(topic)")
        }
        try network.awaitCount("SELECT coalesce(sum(never_shown), 0)::bigint FROM reporting.minute", 1)
        let report = try network.command(["report", "--group", "app", "--json"]).output
        #expect(report.contains(#""neverShown": 1"#) && report.contains(#""shownBriefly": 0"#), "\(report)")
        #expect(try network.command(["reconcile"]).status == 0)
      }
    }

    @Test("E8, A2: a test build shows a picture, which the edge has, of the length and hash that the answer names")
    @MainActor
    func pictures() async throws {
      let network = try await TestNetwork.started(
        .init(services: Self.services, apps: ["chess"], catalog: WholeNetwork.BreakerTests.catalog))
      defer { network.stop() }
      let folder = network.folder.path + "/pictures"
      let address = "http://127.0.0.1:\(network.edgePort)"
      let client = try OfflineDevice.client(folder, via: .edge(address), key: "chess-test-app-key")
      let banner = try await OfflineDevice.see(client, placement: "home")
      let ad = try #require(banner.loadedAd)
      #expect(ad.isTest && ad.imageContents.count == ad.images.count && !ad.images.isEmpty)
      for size in ad.images.keys {
        let image = try #require(client.images?.image(of: ad, size: size))
        #expect(image.count == ad.imageContents[size]?.byteCount)
        #expect(image.starts(with: [0x89, 0x50, 0x4E, 0x47]), "PNG")
        #expect(client.images?.path(of: ad, size: size)?.hasPrefix(folder) == true)
      }
      banner.stop()
      #expect(await client.close(timeoutMilliseconds: 20_000))
    }

    @Test("403, 429 and 503 of the real edge reach the app as codes with sentences, and events get there after them")
    @MainActor
    func refusals() async throws {
      let network = try await Self.network(["HANDBILL_EDGE_CLIENT_RATE": "1"])
      defer { network.stop() }
      let address = "http://127.0.0.1:\(network.edgePort)"
      let stranger = try OfflineDevice.client(nil, via: .edge(address), key: "somebody-elses-key")
      let refused = try await OfflineDevice.failure(stranger, placement: "home")
      #expect(refused?.code == .configurationError && refused?.detail == "A1: the app key is unknown")
      #expect(stranger.connection.problem?.kind == .unauthorized)
      let hasty = try OfflineDevice.client(nil, via: .edge(address))
      var throttled: AdFailure?
      // Ten at once are granted, and the network itself has no objection to these.
      for number in 1...30 where throttled == nil {
        let failure = try await OfflineDevice.failure(hasty, placement: "place-\(number)")
        if let failure, failure.detail.contains("client") { throttled = failure }
      }
      #expect(throttled?.code == .loadingThrottled && (throttled?.retryAfterMilliseconds ?? 0) >= 1_000)
      guard KafkaInstallation.isAvailable else { return }
      let patient = try OfflineDevice.client(nil, via: .edge(address))
      try await OfflineDevice.see(patient, placement: "patient")
      network.signalBroker(SIGSTOP)
      patient.flush()
      let busy = try OfflineDevice.client(nil, via: .edge(address), deadlineMilliseconds: 4_000)
      var unavailable: AdFailure?
      for number in 1...5 where unavailable?.code != .serverFailure {
        unavailable = try await OfflineDevice.failure(busy, placement: "busy-\(number)")
      }
      #expect(unavailable?.code == .serverFailure && unavailable?.detail.isEmpty == false)
      #expect(busy.connection.problem?.kind == .busy)
      network.signalBroker(SIGCONT)
      #expect(await patient.close(timeoutMilliseconds: 60_000))
      try await onOwnThread {
        try network.awaitCount("SELECT count(*) FROM impression_tracking.impression WHERE placement = 'patient'", 1)
      }
    }
  }
}

/// A device whose events do not get through: what happens is on its disk alone.
@MainActor
enum OfflineDevice {
  struct NoAd: Error { let failure: AdFailure }

  /// A transport that asks, and tells nothing.
  private struct Asking: NetworkTransport {
    let inner: any NetworkTransport

    func send(
      _ request: AdRequest, acknowledged: @escaping @Sendable () -> Void,
      completion: @escaping @Sendable (RequestResult) -> Void
    ) { inner.send(request, acknowledged: acknowledged, completion: completion) }

    func send(_ event: OutgoingEvent, ended: @escaping @Sendable (EventEnd) -> Void) -> Bool { true }
  }

  nonisolated static func client(
    _ folder: String?, via transport: AdTransport, key: String = WholeNetwork.GoldenCaseTests.key,
    deadlineMilliseconds: Int64 = 10_000
  ) throws -> AdNetworkClient {
    var options = AdClientOptions()
    options.country = Country("US")
    options.storage = folder.map { .folder($0) } ?? .memory
    options.requestDeadlineMilliseconds = deadlineMilliseconds
    // Those of the catalogue are nowhere; those of test ads lie at the edge.
    options.fetchesImages = key == "chess-test-app-key"
    return try AdNetworkClient(app: "chess", key: key, via: transport, options: options)
  }

  /// Gets an ad, sees and taps it, all of which is on the disk then.
  static func use(_ address: String, folder: String, placement: String) async throws {
    let edge = AdTransport.edge(address)
    let client = try client(folder, via: AdTransport { Asking(inner: edge.make($0)) })
    let banner = try await see(client, placement: placement)
    // A tap so soon after the view would earn nothing.
    try await onOwnThread { Waiting.pause(milliseconds: 200) }
    banner.tap()
    let kept = client.eventsWaiting
    try await onOwnThread { _ = Waiting.until { client.eventsWaiting > kept } }
  }

  /// Shows an ad until it was seen.
  @discardableResult
  static func see(_ client: AdNetworkClient, placement: String) async throws -> Banner {
    let banner = try Banner(client: client, placement: placement)
    for await event in banner.events {
      switch event {
      case .told(.didLoad): banner.visibleFractionChanged(to: 1)
      case .told(.didFail(let failure)): throw NoAd(failure: failure)
      case .paid: return banner
      default: break
      }
    }
    return banner
  }

  /// What the app is told of its first request; nil for an ad.
  static func failure(_ client: AdNetworkClient, placement: String) async throws -> AdFailure? {
    let banner = try Banner(client: client, placement: placement)
    defer { banner.stop() }
    for await event in banner.events {
      switch event {
      case .told(.didLoad): return nil
      case .told(.didFail(let failure)): return failure
      default: break
      }
    }
    return nil
  }
}

extension TestNetwork {
  /// The ids of all events in a topic, by partition, in order.
  func ids(in topic: Topic) throws -> [String] {
    let configuration = KafkaConfiguration(
      bootstrapServers: bootstrapServers, clientID: "ids", environment: isBrokerEmbedded ? .embedded : .real)
    let consumer = try KafkaConsumer(configuration: configuration, groupID: nil, topics: [])
    defer { consumer.close(timeoutMilliseconds: 1_000) }
    try consumer.assign(
      (0..<Int32(plan.partitions)).map {
        KafkaTopicPartitionOffset(topic: topic.name, partition: $0, offset: KafkaTopicPartitionOffset.beginning)
      })
    var ids: [String] = []
    var ends: Set<Int32> = []
    let isRead = try Waiting.until {
      let events = try consumer.poll(timeoutMilliseconds: 100, recordsMaximum: 1_000) { record in
        record.forEachHeader { name, value in
          if name.elementsEqual("ce_id".utf8), let value { ids.append(String(decoding: value, as: UTF8.self)) }
        }
      }
      for case .endReached(_, let partition, _) in events { ends.insert(partition) }
      return ends.count == plan.partitions
    }
    return isRead ? ids : []
  }
}
