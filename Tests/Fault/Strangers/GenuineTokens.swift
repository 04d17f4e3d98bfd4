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
  private let tokens = Mutex<[GenuineToken]>([])
  private let stopping = StopRequest()
  private let thread = Mutex<OwnerThread?>(nil)
  private static let kept = 1_000
  private static let pauseMilliseconds = 50

  /// The last ones.
  var last: [GenuineToken] { tokens.withLock { $0 } }

  init(_ network: FaultNetwork) throws {
    guard let app = AppID(StrangerMessages.app), let placement = PlacementID(StrangerMessages.placement),
      let country = Country("US")
    else { throw FaultFailure("the strangers' names are none") }
    let transport = KafkaTransport(
      settings: KafkaTransportSettings(bootstrapServers: network.kafka.bootstrapServers, apps: [app]))
    self.transport = transport
    let thread = OwnerThread("genuine-tokens") { [self] in
      var number = 0
      repeat {
        number += 1
        let client = "asker-\(number)"
        let session = AdSession(
          identity: ClientIdentity(
            app: app, appKey: StrangerMessages.appKey, clientID: client, sessionID: client,
            country: country, device: .phone), transport: transport)
        session.request(AdSession.Wish(placement: placement)) { [self] result in
          guard case .ad(let ad) = result else { return }
          tokens.withLock { tokens in
            if tokens.count >= Self.kept { tokens.removeFirst(Self.kept / 2) }
            tokens.append(GenuineToken(bytes: ad.token, client: Array(client.utf8)))
          }
        }
      } while !stopping.wait(milliseconds: Self.pauseMilliseconds)
    }
    self.thread.withLock { $0 = thread }
  }

  /// Asks no more, and waits until the broker has what was asked.
  func stop() throws {
    stopping.make()
    thread.withLock { $0 }?.join()
    guard transport.close(timeoutMilliseconds: 30_000) else { throw FaultFailure("not every request was written") }
  }
}
