import AdCore
import AdEvents

/// The message on `ads.rejected` for a rejected record: in the partition of the record, so that its order is kept.
enum RejectedMessage {
  static func make(_ event: RejectedEvent, batchNumber: Int64) -> OutgoingMessage {
    OutgoingMessage(topic: "ads.rejected", partition: event.partition, key: nil, value: [], headers: [])
  }
}
