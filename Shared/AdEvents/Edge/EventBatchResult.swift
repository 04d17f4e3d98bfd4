internal import AdBasics
package import JSON

/// What became of a batch of events: what is not refused, the network has.
package struct EventBatchResult: Hashable, Sendable {
  package struct Refused: Hashable, Sendable {
    /// Its index in the batch, from 0.
    package var index: Int
    package var event: RefusedDeviceEvent

    package init(index: Int, event: RefusedDeviceEvent) {
      self.index = index
      self.event = event
    }

    var detail: String { event.rejection.detail(bytesMaximum: detailBytesMaximum) }
  }

  /// What is said of one event, in bytes, but for the words that there is more: a hundred may be refused at once, and
  /// whoever told them may take his time to read.
  package static let detailBytesMaximum = 200

  package var acceptedCount: Int
  package var refused: [Refused]

  package init(acceptedCount: Int, refused: [Refused]) {
    self.acceptedCount = acceptedCount
    self.refused = refused
  }

  /// As `handbill.v1.EventBatchResult`.
  package func encoded() -> [UInt8] {
    var writer = WireWriter()
    writer.unsigned(1, UInt64(acceptedCount))
    for each in refused {
      writer.message(2) { writer in
        writer.unsigned(1, UInt64(each.index))
        writer.text(2, each.event.id)
        writer.unsigned(3, UInt64(each.event.rejection.reason.rawValue))
        writer.text(4, "\(each.event.rejection.reason)")
        writer.text(5, each.detail)
      }
    }
    return writer.output
  }

  /// The same in protobuf's JSON mapping, defaults left in: people read it.
  package var json: JSONValue {
    [
      "acceptedCount": .integer(acceptedCount),
      "refused": .list(
        refused.map { each in
          [
            "index": .integer(each.index), "id": .text(each.event.id),
            "number": .integer(Int(each.event.rejection.reason.rawValue)),
            "reason": .text("\(each.event.rejection.reason)"), "detail": .text(each.detail),
          ]
        }),
    ]
  }
}
