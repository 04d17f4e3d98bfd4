internal import AdBasics
internal import AdEvents

extension AdTransport {
  /// Nowhere: answers come from within the process. What the app keeps for a real network is left alone: unless the options
  /// name a folder, nothing outlives the process.
  public static func inMemory(_ network: InMemoryNetwork = InMemoryNetwork()) -> AdTransport {
    AdTransport(storage: .memory) { _ in InMemoryTransport(network) }
  }
}

/// The way to a network within the process.
struct InMemoryTransport: NetworkTransport {
  private let network: InMemoryNetwork

  init(_ network: InMemoryNetwork) { self.network = network }

  var connection: AdConnectionState {
    network.behaviour.isReachable
      ? .connected : .disconnected(AdConnectionProblem(.unreachable, "the network in memory is not reachable"))
  }

  func send(
    _ request: AdRequest, acknowledged: @escaping @Sendable () -> Void,
    completion: @escaping @Sendable (RequestResult) -> Void
  ) {
    network.run { [network] in
      let answer = network.answer(request)
      if answer != .noAnswer { acknowledged() }
      completion(answer)
    }
  }

  func send(_ event: OutgoingEvent, ended: @escaping @Sendable (EventEnd) -> Void) -> Bool {
    network.deliver(InMemoryNetwork.Waiting(event: event, ended: ended))
    return true
  }
}

extension AdHappening {
  /// What an event on its way tells; nil for one that comes from the disk.
  init?(_ event: OutgoingEvent) {
    switch event.opened {
    case .impression(let event):
      switch event.kind {
      case .rendered: self = .rendered
      case .viewed: self = .viewed
      case .unloaded: self = .unloaded
      case .neverShown: self = .neverShown
      case .expiredUnseen: self = .expiredUnseen
      case .shownBriefly: self = .shownBriefly
      case .failed: self = .failed(event.error ?? .unknown)
      }
    case .click(let event):
      switch event.kind {
      case .click:
        self = .click(actionMilliseconds: event.actionMilliseconds, leftApplication: event.leftApplication)
      case .blocked: self = .blocked
      case .cancelled: self = .cancelled(actionMilliseconds: event.actionMilliseconds)
      // It happened to no ad of this app.
      case .converted: return nil
      }
    case .stored: return nil
    }
  }
}
