internal import CLibmicrohttpd

/// The functions that libmicrohttpd calls. C pointers end here.
enum HTTPCallbacks {
  /// Called once when the headers are there, once for each piece of the body, and once at the end.
  static let access: MHD_AccessHandlerCallback = { context, connection, url, method, _, data, dataCount, state in
    guard let context = unsafe context, let connection = unsafe connection, let url = unsafe url,
      let method = unsafe method, let dataCount = unsafe dataCount, let state = unsafe state
    else { return hb_http_no }
    let server = unsafe Unmanaged<HTTPServerContext>.fromOpaque(context).takeUnretainedValue()
    guard let known = unsafe state.pointee else {
      let incoming = unsafe begin(server, connection, method: String(cString: method), path: String(cString: url))
      unsafe state.pointee = unsafe Unmanaged.passRetained(incoming).toOpaque()
      server.requestBegan()
      // Answered now, before the body: the library reads no more of it and closes the connection afterwards.
      return unsafe incoming.isToBeCutOff ? finish(server, connection, incoming) : hb_http_yes
    }
    let incoming = unsafe Unmanaged<PartialRequest>.fromOpaque(known).takeUnretainedValue()
    if let pending = incoming.pending { return unsafe queueLate(server, connection, incoming, pending) }
    if unsafe dataCount.pointee > 0 {
      let count = unsafe dataCount.pointee
      let isWelcome =
        unsafe server.connections.take(connection, bytes: count)
        && incoming.append(UnsafeRawBufferPointer(start: data, count: count))
      unsafe dataCount.pointee = 0
      return isWelcome ? hb_http_yes : hb_http_no
    }
    return unsafe incoming.isAnswered ? hb_http_yes : finish(server, connection, incoming)
  }

  /// Called once for each request that ``access`` has seen, however it ended.
  static let completed: MHD_RequestCompletedCallback = { context, connection, state, _ in
    guard let context = unsafe context, let state = unsafe state, let known = unsafe state.pointee else { return }
    let server = unsafe Unmanaged<HTTPServerContext>.fromOpaque(context).takeUnretainedValue()
    let incoming = unsafe Unmanaged<PartialRequest>.fromOpaque(known).takeRetainedValue()
    unsafe state.pointee = nil
    if let pending = incoming.pending { server.forget(pending) }
    if let connection = unsafe connection { unsafe server.connections.awaitRequest(connection) }
    server.requestEnded()
  }

  /// Called when a connection begins, and before its socket is closed.
  static let connected: MHD_NotifyConnectionCallback = { context, connection, _, what in
    guard let context = unsafe context, let connection = unsafe connection else { return }
    let server = unsafe Unmanaged<HTTPServerContext>.fromOpaque(context).takeUnretainedValue()
    if what == hb_http_connection_started {
      unsafe server.connections.begin(
        connection, socket: hb_http_socket(connection), household: household(connection))
    } else {
      unsafe server.connections.end(connection)
    }
  }

  private static func begin(
    _ server: HTTPServerContext, _ connection: OpaquePointer, method: String, path: String
  ) -> PartialRequest {
    let isLegible = method.isSoonCompared && path.isSoonCompared
    let incoming = PartialRequest(
      method: isLegible ? method : "", rawPath: isLegible ? path : "", bodyBytesMaximum: server.limits.bodyBytesMaximum)
    let query = unsafe fields(connection, hb_http_query_kind, maximum: server.limits.fieldsMaximum)
    let headers = unsafe fields(connection, hb_http_header_kind, maximum: server.limits.fieldsMaximum)
    incoming.rawQuery = query.list
    incoming.headers = headers.list.map { ($0.name.lowercased(), $0.value) }
    incoming.isBeyondLimits = !isLegible || query.isCut || headers.isCut
    incoming.clientAddress = unsafe clientAddress(connection)
    incoming.judgeFraming()
    return incoming
  }

  private static func household(_ connection: OpaquePointer) -> Household? {
    var high: UInt64 = 0
    var low: UInt64 = 0
    guard unsafe hb_http_client_number(connection, &high, &low) != 0 else { return nil }
    return Household(high: high, low: low)
  }

  private static func clientAddress(_ connection: OpaquePointer) -> String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(HB_HTTP_ADDRESS_BYTES)) { text in
      guard let start = text.baseAddress else { return "" }
      unsafe hb_http_client_address(connection, start)
      return unsafe String(cString: start)
    }
  }

  /// Collects names and values of one kind.
  private final class Fields {
    var list: [(name: String, value: String)] = []
    var isCut = false
    let maximum: Int

    init(maximum: Int) { self.maximum = maximum }
  }

  private static func fields(_ connection: OpaquePointer, _ kind: MHD_ValueKind, maximum: Int) -> Fields {
    let fields = Fields(maximum: maximum)
    unsafe MHD_get_connection_values_n(
      connection, kind,
      { context, _, name, nameCount, value, valueCount in
        guard let context = unsafe context else { return hb_http_no }
        let fields = unsafe Unmanaged<Fields>.fromOpaque(context).takeUnretainedValue()
        let field = unsafe (name: HTTPCallbacks.text(name, nameCount), value: HTTPCallbacks.text(value, valueCount))
        guard fields.list.count < fields.maximum, field.name.isSoonCompared, field.value.isSoonCompared else {
          fields.isCut = true
          return hb_http_no
        }
        fields.list.append(field)
        return hb_http_yes
      }, unsafe Unmanaged.passUnretained(fields).toOpaque())
    return fields
  }

  private static func text(_ start: UnsafePointer<CChar>?, _ count: Int) -> String {
    unsafe String(decoding: UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count), as: UTF8.self)
  }

  /// The request is complete, or too large to be.
  private static func finish(
    _ server: HTTPServerContext, _ connection: OpaquePointer, _ incoming: PartialRequest
  ) -> MHD_Result {
    incoming.isAnswered = true
    unsafe server.connections.noteRequest(connection)
    switch server.answer(incoming, on: UInt(bitPattern: connection)) {
    case .now(let response): return unsafe queueSafely(response, server, connection, incoming)
    case .later(let pending):
      incoming.pending = pending
      server.remember(pending)
      guard let response = unsafe pending.takeOrSuspend(connection) else { return hb_http_yes }
      return unsafe queueSafely(response, server, connection, incoming)
    }
  }

  /// The library calls again: after the connection was resumed with its answer.
  private static func queueLate(
    _ server: HTTPServerContext, _ connection: OpaquePointer, _ incoming: PartialRequest, _ pending: PendingReply
  ) -> MHD_Result {
    guard let response = pending.take() else { return hb_http_yes }
    return unsafe queueSafely(response, server, connection, incoming)
  }

  private static func queueSafely(
    _ response: HTTPResponse, _ server: HTTPServerContext, _ connection: OpaquePointer, _ incoming: PartialRequest
  ) -> MHD_Result {
    incoming.forgetBody()
    unsafe server.connections.forgetBody(connection)
    if unsafe queue(response, on: connection) == hb_http_yes { return hb_http_yes }
    // The library refuses a header with a line end in it: whoever put it there must not get to write headers.
    let substitute = server.failed(incoming.method, incoming.rawPath, "the response's headers or status are invalid")
    return unsafe queue(substitute, on: connection)
  }

  private static func queue(_ response: HTTPResponse, on connection: OpaquePointer) -> MHD_Result {
    guard (200...599).contains(response.status), let created = unsafe libraryResponse(response) else {
      return hb_http_no
    }
    defer { unsafe MHD_destroy_response(created) }
    let own = Set(response.headers.map { $0.name.lowercased() })
    for (name, value) in response.headers + defaultHeaders.filter({ !own.contains($0.name.lowercased()) }) {
      guard unsafe MHD_add_response_header(created, name, value) == hb_http_yes else { return hb_http_no }
    }
    return unsafe MHD_queue_response(connection, UInt32(response.status), created)
  }

  private static func libraryResponse(_ response: HTTPResponse) -> OpaquePointer? {
    // The library never writes to the bytes; its parameters are not const.
    guard let shared = response.sharedBody else {
      return unsafe response.body.withUnsafeBytes { bytes in
        unsafe MHD_create_response_from_buffer(
          bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), hb_http_copy)
      }
    }
    let held = unsafe Unmanaged.passRetained(shared)
    let created = unsafe MHD_create_response_from_buffer_with_free_callback_cls(
      shared.count, shared.start,
      { held in if let held = unsafe held { unsafe Unmanaged<SharedBytes>.fromOpaque(held).release() } },
      held.toOpaque())
    if unsafe created == nil { unsafe held.release() }
    return unsafe created
  }

  private static let defaultHeaders: [(name: String, value: String)] = [
    ("X-Content-Type-Options", "nosniff"), ("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"),
  ]
}
