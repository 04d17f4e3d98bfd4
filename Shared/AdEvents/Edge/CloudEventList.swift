internal import AdCore
internal import JSON
internal import Records

/// CloudEvents' JSON batch format: a list of events in structured mode.
package enum CloudEventList {
  /// Each event, ready for its topic, or why it is none; the list itself must be readable.
  package static func read(_ body: [UInt8]) -> Result<[Result<DeviceEvent, RefusedDeviceEvent>], Rejection> {
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
      return .success(elements.map(event))
    } catch { return .failure(error) }
  }

  private static let headers = [RecordHeader("content-type", "application/cloudevents+json")]

  private static func event(_ element: JSONValue) -> Result<DeviceEvent, RefusedDeviceEvent> {
    DeviceEvent.cloudEvent(headers: headers, value: Array(element.compactText.utf8)).mapError { rejection in
      RefusedDeviceEvent(id: element.eventID, rejection: rejection)
    }
  }
}
