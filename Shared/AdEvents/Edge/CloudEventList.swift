internal import AdBasics
internal import JSON
internal import Records

/// CloudEvents' JSON batch format: a list of events in structured mode, of which none has been read.
package struct CloudEventList: Sendable {
  private let elements: [JSONValue]

  /// The list itself must be readable.
  package static func read(_ body: [UInt8]) -> Result<CloudEventList, Rejection> {
    do throws(Rejection) {
      let parsed: Result<JSONValue, Rejection> = body.withUnsafeBytes { bytes in
        do throws(Rejection) { return .success(try ProtobufJSON.value(bytes)) } catch { return .failure(error) }
      }
      guard case .list(let elements) = try parsed.get() else {
        throw Rejection(.malformed, "a batch of CloudEvents is a JSON list")
      }
      guard (1...EventBatch.eventsMaximum).contains(elements.count) else {
        throw Rejection(.invalidField, "a batch has 1 to \(EventBatch.eventsMaximum) events")
      }
      return .success(CloudEventList(elements: elements))
    } catch { return .failure(error) }
  }

  package var count: Int { elements.count }

  /// Each event, ready for its topic, or why it is none.
  package func events() -> [Result<DeviceEvent, RefusedDeviceEvent>] { elements.map(Self.event) }

  private static let headers = [RecordHeader("content-type", "application/cloudevents+json")]

  private static func event(_ element: JSONValue) -> Result<DeviceEvent, RefusedDeviceEvent> {
    DeviceEvent.cloudEvent(headers: headers, value: Array(element.compactText.utf8)).mapError { rejection in
      RefusedDeviceEvent(id: element.eventID, rejection: rejection)
    }
  }
}
