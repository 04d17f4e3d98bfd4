internal import AdBasics
internal import JSON
internal import Records

/// What one client tells the edge at once, of which is known whose it is and how many events it has: of these none has been
/// read. One that cannot be read spoils no other.
package struct EventBatch: Sendable {
  package let appKey: String
  /// The client id, else the session id: the key of its records.
  package let clientKey: String
  private let events: Events

  /// The most events of a batch.
  package static let eventsMaximum = 100

  private enum Events: Sendable {
    case protobuf([[UInt8]])
    case json([JSONValue])
  }

  private static let schemaName = "handbill.v1.EventBatch"

  /// Reads the frame of `handbill.v1.EventBatch`.
  package static func read(_ body: [UInt8], isJSON: Bool) -> Result<EventBatch, Rejection> {
    do throws(Rejection) {
      return .success(try isJSON ? readJSON(body) : readProtobuf(body))
    } catch { return .failure(error) }
  }

  package var eventCount: Int {
    switch events {
    case .protobuf(let events): events.count
    case .json(let elements): elements.count
    }
  }

  /// Event by event, so that what is wrong with one is said of it alone.
  ///
  /// - Parameter source: the `ce_source` of their records.
  package func read(source: String) -> [Result<DeviceEvent, RefusedDeviceEvent>] {
    switch events {
    case .protobuf(let events): events.map { $0.withUnsafeBytes { DeviceEvent.read($0, source: source) } }
    case .json(let elements):
      elements.map { element in
        var mistakes = Mistakes()
        let bytes = ProtobufJSON.protobuf(from: element, schemaName: DeviceEvent.schemaName, &mistakes)
        let read = bytes.withUnsafeBytes { DeviceEvent.read($0, source: source) }
        guard let rejection = mistakes.rejection else { return read }
        return .failure(RefusedDeviceEvent(id: element.eventID, rejection: rejection))
      }
    }
  }

  private static func readProtobuf(_ body: [UInt8]) throws(Rejection) -> EventBatch {
    var frame = Frame()
    var events: [[UInt8]] = []
    body.withUnsafeBytes { bytes in
      frame.read(bytes) { (event) throws(Rejection) in
        guard events.count < eventsMaximum else { throw tooMany }
        events.append(Array(event))
      }
    }
    let keys = try frame.result.get()
    guard !events.isEmpty else { throw none }
    return EventBatch(appKey: keys.appKey, clientKey: keys.clientKey, events: .protobuf(events))
  }

  private static func readJSON(_ body: [UInt8]) throws(Rejection) -> EventBatch {
    let parsed: Result<JSONValue, Rejection> = body.withUnsafeBytes { bytes in
      do throws(Rejection) { return .success(try ProtobufJSON.value(bytes)) } catch { return .failure(error) }
    }
    guard case .object(let members) = try parsed.get() else {
      throw Rejection(.malformed, "a batch in JSON is not an object")
    }
    guard case .list(let elements)? = members.first(where: { $0.name == "events" })?.value, !elements.isEmpty else {
      throw none
    }
    guard elements.count <= eventsMaximum else { throw tooMany }
    var frame = Frame()
    let head = JSONValue.object(members.filter { $0.name != "events" })
    ProtobufJSON.protobuf(from: head, schemaName: schemaName, &frame.mistakes).withUnsafeBytes {
      frame.read($0) { _ in }
    }
    let keys = try frame.result.get()
    return EventBatch(appKey: keys.appKey, clientKey: keys.clientKey, events: .json(elements))
  }

  private static let none = Rejection(.missingField, "events is missing or empty: give 1 to \(eventsMaximum)")
  private static let tooMany = Rejection(.invalidField, "events has more than \(eventsMaximum) entries")
}

/// All of a batch but its events.
private struct Frame {
  var appKey = ""
  var clientKey = ""
  var mistakes = Mistakes()

  mutating func read(
    _ bytes: UnsafeRawBufferPointer, event: (UnsafeRawBufferPointer) throws(Rejection) -> Void
  ) {
    var keys = (app: "", client: "")
    mistakes.read(bytes) { (reader) throws(Rejection) in
      switch reader.field {
      case 1: keys.app = try reader.text("app_key", maximum: FieldLimits.appKeyBytesMaximum)
      case 2: keys.client = try reader.text("client_key", maximum: FieldLimits.clientIDBytesMaximum)
      case 3: try event(try reader.bytes())
      default: try reader.skip()
      }
    }
    appKey = mistakes.required(keys.app, "app_key")
    clientKey = mistakes.required(keys.client, "client_key")
  }

  var result: Result<(appKey: String, clientKey: String), Rejection> {
    mistakes.rejection.map(Result.failure) ?? .success((appKey, clientKey))
  }
}

extension JSONValue {
  /// The member `id` of an event, where there is one.
  var eventID: String {
    guard case .object(let members) = self, case .text(let id)? = members.first(where: { $0.name == "id" })?.value
    else { return "" }
    return id.beginning(bytesMaximum: DeviceEvent.idBytesMaximum)
  }
}
