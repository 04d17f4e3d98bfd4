internal import CLibpq
internal import Glibc
internal import Threads

/// One libpq connection, driven without ever blocking inside libpq: all waiting is `poll` with a limit, and while
/// sending, answers are taken in, so that neither a stopped server nor a long statement batch can hold the caller for ever.
@safe final class Session {
  let handle: OpaquePointer
  /// How long nothing may move; nil for no limit.
  var silenceLimitMilliseconds: Int?

  private init(handle: OpaquePointer, silenceLimitMilliseconds: Int?) {
    unsafe self.handle = unsafe handle
    self.silenceLimitMilliseconds = silenceLimitMilliseconds
  }

  deinit { unsafe PQfinish(handle) }

  /// Connects and applies the settings that every session has.
  static func connect(_ configuration: PostgresConfiguration) throws(PostgresError) -> Session {
    let keywords = configuration.connectionKeywords
    guard let handle = unsafe start(keywords) else { throw PostgresError(.cannotConnect, "libpq has no memory left") }
    let session = unsafe Session(handle: handle, silenceLimitMilliseconds: configuration.connectTimeoutMilliseconds)
    unsafe PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
    let deadline = MonotonicClock.milliseconds + Int64(configuration.connectTimeoutMilliseconds)
    var progress = unsafe PQstatus(handle) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING
    while progress != PGRES_POLLING_OK {
      guard progress != PGRES_POLLING_FAILED else { throw session.connectError(configuration) }
      let remaining = deadline - MonotonicClock.milliseconds
      let events = progress == PGRES_POLLING_READING ? POLLIN : POLLOUT
      guard remaining > 0, session.poll(Int16(events), milliseconds: Int(remaining)) != 0 else {
        throw PostgresError(
          .cannotConnect,
          "no answer within \(configuration.connectTimeoutMilliseconds) ms from \(configuration)",
          hint: "Check that PostgreSQL runs there and that nothing between here and there drops the packets")
      }
      progress = unsafe PQconnectPoll(handle)
    }
    unsafe PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
    unsafe PQsetNoticeReceiver(handle, { _, _ in }, nil)
    guard unsafe PQsetnonblocking(handle, 1) == 0 else { throw session.lost() }
    try session.apply(configuration.allSessionSettings)
    session.silenceLimitMilliseconds = configuration.silenceLimitMilliseconds
    return session
  }

  private static func start(_ keywords: [(name: String, value: String)]) -> OpaquePointer? {
    let names: [UnsafeMutablePointer<CChar>?] = unsafe keywords.map { unsafe strdup($0.name) } + [nil]
    let values: [UnsafeMutablePointer<CChar>?] = unsafe keywords.map { unsafe strdup($0.value) } + [nil]
    defer {
      for index in unsafe names.indices { unsafe free(names[index]) }
      for index in unsafe values.indices { unsafe free(values[index]) }
    }
    return unsafe PQconnectStartParams(
      names.map { unsafe UnsafePointer($0) }, unsafe values.map { unsafe UnsafePointer($0) }, 0)
  }

  private func apply(_ settings: [String: String]) throws(PostgresError) {
    let pairs = settings.sorted { $0.key < $1.key }
    let parameters = try EncodedParameters([pairs.map(\.key), pairs.map(\.value)])
    let sql = "SELECT set_config(name, value, false) FROM unnest($1, $2) AS setting (name, value)"
    let sent = unsafe parameters.withPointers { values, lengths, formats in
      unsafe PQsendQueryParams(handle, sql, Int32(parameters.count), parameters.types, values, lengths, formats, 1)
    }
    guard sent == 1 else { throw lost() }
    try finishSimple()
  }

  /// Reads the answers of one command that is not part of a statement batch, to their end; throws the first error.
  @discardableResult
  func finishSimple() throws(PostgresError) -> PostgresResult? {
    var last: PostgresResult?
    var failure: PostgresError?
    while let result = try nextResult() {
      // libpq would give this answer for ever: a COPY that nobody feeds, or whose connection broke.
      if result.status == PGRES_COPY_IN || result.status == PGRES_COPY_OUT {
        throw PostgresError(
          .connectionLost(commitUnknown: false), "a COPY was left unfinished; the connection is given up")
      }
      if let error = check(result) {
        if failure == nil { failure = error }
        if error.isConnectionLost { throw error }
      }
      last = result
    }
    if let failure { throw failure }
    return last
  }

  /// The error that `result` is, if it is one. When the connection ended with it, its kind says so.
  func check(_ result: PostgresResult) -> PostgresError? {
    guard result.status == PGRES_FATAL_ERROR || result.status == PGRES_BAD_RESPONSE else { return nil }
    var error = result.error()
    if unsafe PQstatus(handle) == CONNECTION_BAD { error.kind = .connectionLost(commitUnknown: false) }
    return error
  }

  /// The next answer, waiting for it; nil at the end of a command's answers.
  func nextResult() throws(PostgresError) -> PostgresResult? {
    try flush()
    while unsafe PQisBusy(handle) == 1 {
      try wait(POLLIN)
      // When this fails, the server's last words may have come all the same: PQgetResult has them.
      guard unsafe PQconsumeInput(handle) == 1 else { break }
    }
    return unsafe PQgetResult(handle).map { unsafe PostgresResult($0) }
  }

  /// Sends everything that is buffered, taking in answers meanwhile.
  func flush() throws(PostgresError) {
    while true {
      switch unsafe PQflush(handle) {
      case 0: return
      case 1:
        let ready = try wait(POLLIN | POLLOUT)
        // On a failure the next PQflush or PQgetResult reports it.
        if ready & Int16(POLLIN) != 0, unsafe PQconsumeInput(handle) == 0 { return }
      default: throw lost()
      }
    }
  }

  /// Waits until the socket is ready for one of `events`.
  @discardableResult
  func wait(_ events: Int32) throws(PostgresError) -> Int16 {
    guard unsafe PQsocket(handle) >= 0 else { throw lost() }
    let ready = poll(Int16(events), milliseconds: silenceLimitMilliseconds)
    guard ready != 0 else {
      throw PostgresError(
        .connectionLost(commitUnknown: false),
        "the server was silent for \(silenceLimitMilliseconds ?? 0) ms; the connection is given up")
    }
    return ready
  }

  /// The events that came (0 after the time): `poll`, once more after each signal.
  private func poll(_ events: Int16, milliseconds: Int?) -> Int16 {
    let deadline = milliseconds.map { MonotonicClock.milliseconds + Int64($0) }
    var descriptor = unsafe pollfd(fd: PQsocket(handle), events: events, revents: 0)
    while true {
      let remaining = deadline.map { max(0, min($0 - MonotonicClock.milliseconds, Int64(Int32.max))) }
      let count = unsafe Glibc.poll(&descriptor, 1, remaining.map { Int32($0) } ?? -1)
      if count > 0 { return descriptor.revents }
      if count == 0 { return 0 }
      // Anything but a signal shows when the socket is next used.
      if errno != EINTR { return events }
    }
  }

  /// What is thrown when libpq says that the connection ended.
  func lost() -> PostgresError {
    let text = unsafe PQerrorMessage(handle).map { unsafe oneLine(String(cString: $0)) } ?? ""
    return PostgresError(.connectionLost(commitUnknown: false), text.isEmpty ? "the connection ended" : text)
  }

  /// Why connecting failed. libpq hands out only text here; verbose text has the SQLSTATE before the message.
  private func connectError(_ configuration: PostgresConfiguration) -> PostgresError {
    let lines = unsafe (PQerrorMessage(handle).map { unsafe String(cString: $0) } ?? "").split(
      whereSeparator: \.isNewline)
    let text = lines.filter { !$0.hasPrefix("LOCATION:") }.joined(separator: " ")
    let state = text.split(separator: " ").dropFirst().first { word in
      word.utf8.count == 6 && word.last == ":" && word.utf8.dropLast().allSatisfy(Self.isStateCharacter)
        && word.contains { $0.isNumber }
    }.map { String($0.dropLast()) }
    var error = PostgresError(.cannotConnect, "cannot connect to \(configuration): \(text)", sqlState: state)
    if unsafe state?.hasPrefix("28") == true || PQconnectionNeedsPassword(handle) == 1 {
      error.kind = .authenticationFailed
      error.hint = "Check the user and the password in the database address and the server's pg_hba.conf"
    } else if state == "3D000" {
      error.kind = .invalidConfiguration
      error.hint = "Create the database, or name another one in the address"
    } else if state == nil {
      error.hint = "Check that PostgreSQL runs and listens there, and the host and port in the database address"
    }
    return error
  }

  private static func isStateCharacter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
  }
}
