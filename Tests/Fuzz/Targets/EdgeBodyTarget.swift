import AdCore
import AdEvents
import HTTP
import Records

/// Bodies of POST /v1/events: the first byte says in which form the rest is.
enum EdgeBodyTarget {
  private static let unpackedBytesMaximum = 10_000

  static let target = FuzzTarget(
    "edge-body",
    words: ["events", "app_key", "client_key", "impression", "click", "KIND_VIEWED", "\u{1F}\u{8B}"],
    seeds: {
      let event = [10, 1, 97, 26, 9] + impression
      let batch = [10, 1, 107, 18, 1, 99, 26, UInt8(event.count)] + event
      return [
        [0] + batch,
        [1]
          + Array(
            #"{"appKey":"k","clientKey":"c","events":[{"id":"a","click":{"kind":"KIND_CLICK","token":"AQ"}}]}"#.utf8),
        [2]
          + Array(
            #"[{"specversion":"1.0","id":"a","source":"/x","type":"org.handbill.click.tapped.v1","data":{}}]"#.utf8),
        [3, 0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0],
      ]
    },
    fault: fault)

  /// A view: kind, token, age.
  private static let impression: [UInt8] = [8, 2, 18, 3, 1, 2, 3, 32, 100]

  private static func fault(_ input: UnsafeRawBufferPointer) -> String? {
    let body = Array(input.dropping(1))
    switch (input.first ?? 0) & 3 {
    case 0, 1:
      let read = EventBatch.read(body, isJSON: input.first.map { $0 & 3 == 1 } ?? false)
      guard case .success(let batch) = read else { return nil }
      if !(1...FieldLimits.appKeyBytesMaximum).contains(batch.appKey.utf8.count) { return "the app key has no limit" }
      let events = batch.read(source: "/client")
      return events.count == batch.eventCount ? self.fault(in: events) : "it has other events than it says"
    case 2:
      guard case .success(let list) = CloudEventList.read(body) else { return nil }
      return self.fault(in: list.events())
    default:
      guard let unpacked = try? Gzip.expand(body, maximum: unpackedBytesMaximum) else { return nil }
      return unpacked.count <= unpackedBytesMaximum ? nil : "it unpacked to \(unpacked.count) bytes"
    }
  }

  /// What is taken must be what the trackers take.
  private static func fault(in events: [Result<DeviceEvent, RefusedDeviceEvent>]) -> String? {
    if !(1...EventBatch.eventsMaximum).contains(events.count) { return "it has \(events.count) events" }
    for case .success(let event) in events {
      var headers = RecordHeaders()
      for header in event.headers { headers.add(header) }
      let isRead = event.value.withUnsafeBytes { value in
        event.topic == .clicks
          ? (try? ClickEvent.decode(value: value, headers: headers).get()) != nil
          : (try? ImpressionEvent.decode(value: value, headers: headers).get()) != nil
      }
      if !isRead { return "an event was taken that no tracker reads" }
    }
    return nil
  }
}
