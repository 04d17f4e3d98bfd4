internal import AdBasics
internal import AdEvents

/// A batch of one client's events as the edge takes it: `handbill.v1.EventBatch`.
struct EdgeBatch {
  /// The most events of one batch.
  static let eventsMaximum = 100
  /// So many events cost as much of the edge's rates as one request; fewer cost no less.
  static let requestEvents = 10
  /// The most bytes of their values, well below the edge's limit for the whole.
  static let bytesMaximum = 200_000
  /// How long nothing may come or go of it.
  static let timeoutMilliseconds: Int64 = 30_000
  /// How long all of it may take: no longer than the edge waits for a whole request.
  static let timeLimitMilliseconds: Int64 = 150_000

  let appKey: String
  /// The client id, else the session id.
  let clientKey: String
  let events: [OutgoingEvent]

  func encoded() -> [UInt8] {
    var writer = WireWriter()
    writer.text(1, appKey)
    writer.text(2, clientKey)
    for event in events {
      let encoded = event.encoded
      writer.message(3) { writer in
        writer.text(1, event.id.description)
        writer.unsigned(2, UInt64(clamping: event.time.milliseconds))
        writer.presentBytes(encoded.isClick ? 4 : 3, encoded.value)
      }
    }
    return writer.output
  }
}

/// What came of a batch: `handbill.v1.EventBatchResult`.
struct EdgeResult {
  /// What the edge will never take, by place in the batch, from 0; a sentence for each.
  let refused: [Int: String]

  /// - Parameter count: how many events the batch had. An answer that does not say of each what came of it is none.
  init?(reading bytes: [UInt8], of count: Int) {
    var taken = 0
    var refused: [Int: String] = [:]
    let isRead = bytes.withUnsafeBytes { buffer in
      do throws(Rejection) {
        var reader = WireReader(buffer)
        while try reader.next() {
          switch reader.field {
          case 1: taken = Int(clamping: try reader.unsigned())
          case 2:
            let (index, sentence) = try EdgeResult.refusal(try reader.bytes())
            refused[index] = sentence
          default: try reader.skip()
          }
        }
        return true
      } catch { return false }
    }
    guard isRead, refused.keys.allSatisfy((0..<count).contains), taken == count - refused.count else { return nil }
    self.refused = refused
  }

  private static func refusal(_ bytes: UnsafeRawBufferPointer) throws(Rejection) -> (Int, String) {
    var index = 0
    var texts: [String] = []
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: index = Int(clamping: try reader.unsigned())
      case 4, 5: texts.append(String(decoding: try reader.bytes(), as: UTF8.self))
      default: try reader.skip()
      }
    }
    return (index, texts.joined(separator: ": "))
  }
}
