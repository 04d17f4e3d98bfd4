internal import AdClient
internal import AdCore
internal import Threads

/// Asks for an ad as a device of the app does, by the SDK, images included.
struct AppTrial: Sendable {
  let app: AppID
  let key: String
  let way: DeviceWay
  let country: Country
  let device: Device
  let fetchesImages: Bool

  /// What came of it. The ad is shown to nobody: it counts as asked for and never shown (D3).
  @MainActor
  func finding() async throws -> Finding {
    let warning = Monitor<String?>(nil)
    let log: AdLog = { entry in
      if entry.level == .warning { warning.withLock { $0 = entry.text } }
    }
    let connection = try DeviceWay.Connection(way, apps: [app], log: log)
    var options = AdClientOptions()
    options.country = country
    options.device = device
    options.storage = .none
    options.fetchesImages = fetchesImages
    options.log = log
    let client = try AdNetworkClient(app: app.text, key: key, via: connection.transport, options: options)
    let answer = try await ask(client, warning)
    _ = await client.close(timeoutMilliseconds: 5_000)
    await connection.close()
    return answer
  }

  @MainActor
  private func ask(_ client: AdNetworkClient, _ warning: Monitor<String?>) async throws -> Finding {
    let banner = try Banner(client: client, placement: "app-check")
    defer { banner.stop() }
    for await event in banner.events {
      switch event {
      case .show(let ad, let size):
        let kind = ad.isTest ? "test ad" : "ad"
        return .good(
          "answer", way.name, "\(kind) \(ad.ad) in \(size.width) x \(size.height), serve \(ad.serveID)")
      case .told(.didFail(let failure)):
        return finding(failure, client.connection.problem, warning: warning.withLock { $0 })
      default: break
      }
    }
    return .unknown("answer", way.name, "nothing was told of it")
  }

  /// No ad where all is well is no mistake of the app's: nothing may be for sale, and test builds get errors on purpose (A2).
  ///
  /// - Parameter warning: the last of the client's log, which alone says, for one, which image could not be had.
  private func finding(_ failure: AdFailure, _ problem: AdConnectionProblem?, warning: String?) -> Finding {
    let reason = failure.detail.isEmpty ? warning.map { ": \($0)" } ?? "" : ""
    let request = failure.requestID.map { ", request \($0)" } ?? ""
    let isAnswered = failure.code == .inventoryUnavailable || failure.detail.hasPrefix("A2:")
    return .judged("answer", way.name, "\(failure)\(reason)\(request)", isGood: isAnswered, advice(failure, problem))
  }

  /// Where the network refused the request, it can say why; where it was not reached, it has never heard of it.
  private func advice(_ failure: AdFailure, _ problem: AdConnectionProblem?) -> String {
    if failure.code == .assetLoadFailure {
      return "look at the image's address; where this machine alone does not reach it: --no-images"
    }
    let isRefused = problem == nil || problem?.kind == .unauthorized
    if isRefused, let requestID = failure.requestID { return "handbill explain \(requestID)" }
    return switch problem?.kind {
    case .unreachable: "look at the address, and whether a server listens there"
    case .unauthorized: "look at the credentials, and at the rights: handbill topics acls --app \(app)"
    case .topicMissing: "handbill topics create --app \(app)"
    case .notTheNetwork: "look at the address: whoever answers there is no edge"
    case .busy: "try again; if it stays so, look at the server's log"
    case .other, nil: "look at the server's log"
    }
  }
}
