internal import AdBasics
internal import AdEvents
internal import Foundation

/// A batch of one client's events as the edge takes it: `handbill.v1.EventBatch`.
struct EdgeBatch {
  /// The most events of one batch.
  static let eventsMaximum = 100
  /// The most bytes of their values, well below the edge's limit for the whole.
  static let bytesMaximum = 200_000
  /// How long the edge may take for it.
  static let timeoutMilliseconds: Int64 = 30_000

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

/// What the edge will never take of a batch: `handbill.v1.EventBatchResult`.
struct EdgeRefusals {
  /// By place in the batch, from 0; a sentence for each.
  let sentences: [Int: String]

  init(reading bytes: [UInt8]) throws(Rejection) {
    let result: Result<[Int: String], Rejection> = bytes.withUnsafeBytes { buffer in
      do throws(Rejection) {
        var sentences: [Int: String] = [:]
        var reader = WireReader(buffer)
        while try reader.next() {
          guard reader.field == 2 else {
            try reader.skip()
            continue
          }
          let (index, sentence) = try EdgeRefusals.refusal(try reader.bytes())
          sentences[index] = sentence
        }
        return .success(sentences)
      } catch { return .failure(error) }
    }
    sentences = try result.get()
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

/// What the edge says when it does not do what it was asked (RFC 9457).
struct EdgeProblem: Decodable {
  var detail: String?
  var title: String?

  /// The sentence in an answer's body; else what the status says.
  static func sentence(_ body: [UInt8], status: Int) -> String {
    let problem = try? JSONDecoder().decode(EdgeProblem.self, from: Data(body))
    return problem?.detail ?? problem?.title ?? "the edge answers with status \(status)"
  }
}
