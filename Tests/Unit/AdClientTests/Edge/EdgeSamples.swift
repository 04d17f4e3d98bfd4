import AdBasics
import AdEvents
import Testing

@testable import AdClient

/// The way of one client to an edge at an address.
func edgeTransport(
  _ address: String, deadlineMilliseconds: Int64 = 3_000, log: @escaping AdLog = { _ in }
) throws -> EdgeTransport {
  let context = AdTransport.Context(
    app: try #require(AppID(sampleApp)), appKey: "key", deadlineMilliseconds: deadlineMilliseconds, log: log)
  return EdgeTransport(EdgeConnection(address), address: address, context: context, batchMilliseconds: 1)
}

func edgeRequest() throws -> AdRequest {
  AdRequest(
    requestID: DeviceClock.newID(), appKey: "key", app: try #require(AppID(sampleApp)),
    placement: try #require(PlacementID("home")), clientID: "client-1", sessionID: "session-1",
    country: try #require(Country("US")), device: .phone, requiredSizes: [], currentSize: "", isInterstitial: false,
    deadlineMilliseconds: 0, replyPartition: 0, replyTopic: "", correlationID: [])
}

/// A batch, as the edge reads it.
struct ToldBatch {
  var appKey = ""
  var clientKey = ""
  var ids: [String] = []

  init(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { buffer in
      var reader = WireReader(buffer)
      while (try? reader.next()) == true {
        guard let value = try? reader.bytes() else { return }
        switch reader.field {
        case 1: appKey = String(decoding: value, as: UTF8.self)
        case 2: clientKey = String(decoding: value, as: UTF8.self)
        default:
          var event = WireReader(value)
          if (try? event.next()) == true, let id = try? event.bytes() {
            ids.append(String(decoding: id, as: UTF8.self))
          }
        }
      }
    }
  }
}

extension SmallServer.Reply {
  /// What the edge says of a batch.
  static func result(taken: Int, refused: [Int: String] = [:]) -> SmallServer.Reply {
    var writer = WireWriter()
    writer.unsigned(1, UInt64(taken))
    for (index, sentence) in refused.sorted(by: { $0.key < $1.key }) {
      writer.message(2) { writer in
        writer.unsigned(1, UInt64(index))
        writer.text(5, sentence)
      }
    }
    return SmallServer.Reply(body: writer.output)
  }
}
