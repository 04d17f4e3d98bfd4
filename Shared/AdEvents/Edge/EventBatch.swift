internal import AdBasics
internal import JSON
internal import Records

/// What one client tells the edge at once. An event of it that cannot be read spoils no other.
package struct EventBatch: Sendable {
  package var appKey: String
  /// The client id, else the session id: the key of its records.
  package var clientKey: String
  package var events: [Result<DeviceEvent, RefusedDeviceEvent>]

  /// The most events of a batch.
  package static let eventsMaximum = 100

  package init(appKey: String, clientKey: String, events: [Result<DeviceEvent, RefusedDeviceEvent>]) {
    self.appKey = appKey
    self.clientKey = clientKey
    self.events = events
  }

  private static let schemaName = "handbill.v1.EventBatch"

  /// Reads `handbill.v1.EventBatch`.
  ///
  /// - Parameter source: the `ce_source` of its records, made of the app key, as far as it can be read.
  package static func read(
    _ body: [UInt8], isJSON: Bool, source: (_ appKey: String) -> String
  ) -> Result<EventBatch, Rejection> {
    do throws(Rejection) {
      return .success(try isJSON ? readJSON(body, source: source) : readProtobuf(body, source: source))
    } catch { return .failure(error) }
  }

  private static func readProtobuf(
    _ body: [UInt8], source: (String) -> String
  ) throws(Rejection) -> EventBatch {
    let read: Result<EventBatch, Rejection> = body.withUnsafeBytes { bytes in
      var frame = Frame()
      var events: [UnsafeRawBufferPointer] = []
      frame.read(bytes) { (event) throws(Rejection) in
        guard events.count < eventsMaximum else { throw tooMany }
        events.append(event)
      }
      return frame.result.flatMap { keys in
        guard !events.isEmpty else { return .failure(none) }
        let source = source(keys.appKey)
        return .success(
          EventBatch(
            appKey: keys.appKey, clientKey: keys.clientKey, events: events.map { DeviceEvent.read($0, source: source) })
        )
      }
    }
    return try read.get()
  }

  /// Event by event, so that what is wrong with one is said of it alone.
  private static func readJSON(_ body: [UInt8], source: (String) -> String) throws(Rejection) -> EventBatch {
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
    let origin = source(keys.appKey)
    return EventBatch(
      appKey: keys.appKey, clientKey: keys.clientKey,
      events: elements.map { element in
        var mistakes = Mistakes()
        let bytes = ProtobufJSON.protobuf(from: element, schemaName: DeviceEvent.schemaName, &mistakes)
        let read = bytes.withUnsafeBytes { DeviceEvent.read($0, source: origin) }
        guard let rejection = mistakes.rejection else { return read }
        return .failure(RefusedDeviceEvent(id: element.eventID, rejection: rejection))
      })
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
