import AdClient
import AdClientKafka
import AdCore
import Foundation
import Runtime
import Synchronization
import TestServers
import Threads

/// A token, and whose it is.
struct GenuineToken: Sendable {
  var bytes: [UInt8]
  /// The key of its client's events.
  var client: [UInt8]
}

/// Asks for ads like a proper device, for the tokens of the answers.
final class GenuineTokens: Sendable {
  private let transport: KafkaTransport
  private let devices = FaultDevices()
  private let tokens = Mutex<[GenuineToken]>([])
  private let stopping = StopRequest()
  private let thread = Mutex<OwnerThread?>(nil)
  private static let kept = 1_000
  private static let pauseMilliseconds = 50

  /// The last ones.
  var last: [GenuineToken] { tokens.withLock { $0 } }

  init(_ network: FaultNetwork) throws {
    guard let app = AppID(StrangerMessages.app) else { throw FaultFailure("the strangers' app is none") }
    let transport = KafkaTransport(
      settings: KafkaTransportSettings(bootstrapServers: network.kafka.bootstrapServers, apps: [app]))
    self.transport = transport
    let thread = OwnerThread("genuine-tokens") { [self] in
      var number = 0
      repeat {
        number += 1
        let client = "asker-\(number)"
        Task { @FaultActor in ask(client) }
      } while !stopping.wait(milliseconds: Self.pauseMilliseconds)
    }
    self.thread.withLock { $0 = thread }
  }

  @FaultActor
  private func ask(_ client: String) {
    let place = FaultDevice.Place(
      app: StrangerMessages.app, key: StrangerMessages.appKey, placement: StrangerMessages.placement)
    devices.add(
      place, client: client, via: AdTransport { [transport] _ in transport }, isShown: false
    ) { [self] ad in
      guard let ad else { return }
      keep(GenuineToken(bytes: ad.token, client: Array(client.utf8)))
    }
  }

  private func keep(_ token: GenuineToken) {
    tokens.withLock { tokens in
      if tokens.count >= Self.kept { tokens.removeFirst(Self.kept / 2) }
      tokens.append(token)
    }
  }

  /// Asks no more, and waits until the broker has what was asked.
  func stop() throws {
    stopping.make()
    thread.withLock { $0 }?.join()
    guard transport.close(timeoutMilliseconds: 30_000) else { throw FaultFailure("not every request was written") }
  }
}
