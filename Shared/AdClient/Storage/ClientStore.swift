internal import AdBasics
internal import AdEvents
internal import Foundation
internal import Hashes
internal import SQLite
internal import Threads

/// What outlives the app's process: events that the network does not have yet, in order; the client id; when each place
/// was last asked for. A database of SQLite's, whose file no other process opens meanwhile.
final class ClientStore: Sendable {
  /// The most events that are kept: the newest beyond is refused.
  static let eventsMaximum = 10_000
  /// The most bytes of them.
  static let bytesMaximum = 16 * 1_024 * 1_024
  /// The most places whose last request is remembered.
  private static let placesMaximum = 1_000
  /// The bytes of a client id, random (A8).
  private static let clientIDBytes = 16

  /// An event with its place in the queue.
  struct Kept: Sendable {
    let number: Int64
    let event: OutgoingEvent
  }

  private struct Contents {
    /// nil once the store is closed.
    var database: SQLiteDatabase?
    var count: Int
    var bytes: Int
    /// Events that the disk did not take, and that have not ended.
    var unkept = 0
    var refused: Int
    /// The client id; nil where there is none, or it was forgotten. It counts as long as the app runs, whatever the disk
    /// says, and after it as soon as the disk took it.
    var clientID: String?
    /// The client id that the disk has.
    var notedClientID: String?

    var waiting: Int { count + unkept }

    /// - Throws: What SQLite says; that the store is closed.
    @discardableResult
    mutating func run(_ sql: String, _ parameters: SQLiteValue...) throws(SQLiteError) -> [[SQLiteValue]] {
      try run(sql, parameters)
    }

    @discardableResult
    mutating func run(_ sql: String, _ parameters: [SQLiteValue]) throws(SQLiteError) -> [[SQLiteValue]] {
      // A full disk may have room by now.
      try? noteClientID()
      return try opened().run(sql, parameters)
    }

    /// Writes the client id where the disk has another, or has one that was forgotten.
    mutating func noteClientID() throws(SQLiteError) {
      guard notedClientID != clientID else { return }
      if let clientID {
        try opened().run("INSERT OR REPLACE INTO note VALUES ('client', ?1)", .text(clientID))
      } else {
        try opened().run("DELETE FROM note WHERE name = 'client'")
      }
      notedClientID = clientID
    }

    private func opened() throws(SQLiteError) -> SQLiteDatabase {
      guard let database else { throw SQLiteError(code: ClientStore.closedCode, message: "the client is closed") }
      return database
    }
  }

  /// SQLite's code for a use that may not be.
  private static let closedCode: Int32 = 21

  private let contents: Monitor<Contents>
  private let log: AdLog

  init(path: String?, log: @escaping AdLog = { _ in }) throws(SQLiteError) {
    let database = try SQLiteDatabase(path: path)
    for statement in ClientStore.schema { try database.run(statement) }
    let sums = try database.run("SELECT count(*), coalesce(sum(length(value)), 0) FROM event").first ?? []
    let notes = try database.run("SELECT name, value FROM note")
    func note(_ name: String) -> String? { notes.first { $0.first?.text == name }?.last?.text }
    contents = Monitor(
      Contents(
        database: database, count: Int(sums.first?.integer ?? 0), bytes: Int(sums.last?.integer ?? 0),
        refused: note("refused").flatMap { Int($0) } ?? 0, clientID: note("client"), notedClientID: note("client")))
    self.log = log
  }

  private static let schema = [
    """
    CREATE TABLE IF NOT EXISTS event (
      number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, time INTEGER NOT NULL, app TEXT NOT NULL,
      client TEXT NOT NULL, type TEXT NOT NULL, value BLOB NOT NULL) STRICT
    """,
    "CREATE TABLE IF NOT EXISTS note (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    "CREATE TABLE IF NOT EXISTS ask (placement TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT",
  ]

  /// The app's store; in memory where the disk gives none, which the log says. A file that SQLite cannot read is set aside.
  static func open(_ storage: AdStorage, app: AppID, log: @escaping AdLog) -> ClientStore? {
    do {
      let path = try storage.path(for: app)
      do throws(SQLiteError) {
        return try ClientStore(path: path, log: log)
      } catch {
        guard let path, error.isOfUnreadableFile else { throw error }
        try setAside(path)
        let words = "the client's file cannot be read (\(error)): it is \(path)\(asideSuffix) now, and a new one begins"
        log(AdLogEntry(.warning, words))
        return try ClientStore(path: path, log: log)
      }
    } catch {
      let isBusy = (error as? SQLiteError)?.isBusy == true
      let why = isBusy ? "another AdNetworkClient has it: close() it first" : "\(error)"
      log(AdLogEntry(.warning, "nothing is kept on disk: \(why)"))
      return try? ClientStore(path: nil, log: log)
    }
  }

  /// What is put behind the name of a file that cannot be read.
  private static let asideSuffix = ".unreadable"

  /// Takes a database's files out of the way, in place of what was set aside before.
  private static func setAside(_ path: String) throws {
    for part in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: path + asideSuffix + part)
      guard FileManager.default.fileExists(atPath: path + part) else { continue }
      try FileManager.default.moveItem(atPath: path + part, toPath: path + asideSuffix + part)
    }
  }

  /// Events that have not ended, those included that the disk did not take.
  var eventCount: Int { contents.withLock { $0.waiting } }
  var refusedCount: Int { contents.withLock { $0.refused } }

  /// What came of an event that is to be kept.
  enum Appended: Hashable {
    /// It survives the process from now on, under a number that is higher than those before.
    case kept(Int64)
    /// The queue is full, or closed: the event is refused and counted.
    case refused
    /// The disk takes nothing, which the log says: the event waits in memory until ``endUnkept(_:)``.
    case notOnDisk
  }

  /// Takes an event.
  ///
  /// - Parameter kept: Given the number of a kept event before anybody can read that here.
  func append(_ event: OutgoingEvent, kept: (Int64) -> Void = { _ in }) -> Appended {
    let encoded = event.encoded
    let (appended, problem) = contents.withLock { contents -> (Appended, String) in
      guard contents.database != nil else {
        ClientStore.refuse(&contents)
        return (.refused, "an event was refused: the client is closed")
      }
      guard contents.count < ClientStore.eventsMaximum,
        encoded.value.count <= ClientStore.bytesMaximum - contents.bytes
      else {
        ClientStore.refuse(&contents)
        return (.refused, "an event was refused: the queue is full")
      }
      do throws(SQLiteError) {
        try contents.run(
          "INSERT INTO event (id, time, app, client, type, value) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
          .text(event.id.description), .integer(event.time.milliseconds), .text(event.app.text),
          .text(event.partitionKey), .text("\(encoded.type.name)"), .blob(encoded.value))
      } catch {
        contents.unkept += 1
        return (.notOnDisk, "an event is not kept on disk: \(error)")
      }
      contents.count += 1
      contents.bytes += encoded.value.count
      let number = contents.database?.lastRow ?? 0
      kept(number)
      return (.kept(number), "")
    }
    if !problem.isEmpty { log(AdLogEntry(.warning, problem)) }
    return appended
  }

  /// An event that the disk did not take waits no more.
  func endUnkept(_ end: EventEnd) {
    contents.update { contents in
      contents.unkept -= 1
      if end == .refused { ClientStore.refuse(&contents) }
    }
  }

  private static func refuse(_ contents: inout Contents) {
    contents.refused += 1
    _ = try? contents.run(
      "INSERT INTO note VALUES ('refused', ?1) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
      .text("\(contents.refused)"))
  }

  /// The first events after `number`, in order, at most so many: fewer only where there are no more. What cannot be read any
  /// more is dropped and counted.
  ///
  /// - Returns: nil where the disk gives nothing, which the log says.
  func events(after number: Int64, limit: Int) -> [Kept]? {
    var events: [Kept] = []
    var last = number
    while events.count < limit {
      let wanted = limit - events.count
      let read = run(
        "SELECT number, id, time, app, client, type, value FROM event WHERE number > ?1 ORDER BY number LIMIT ?2",
        .integer(last), .integer(Int64(wanted)))
      guard let rows = read else { return nil }
      for row in rows {
        last = row.first?.integer ?? last
        if let event = ClientStore.event(row) {
          events.append(Kept(number: last, event: event))
        } else {
          removeRefused(last)
          log(AdLogEntry(.warning, "event \(row[1].text ?? "") was dropped: it cannot be read any more"))
        }
      }
      if rows.count < wanted { break }
    }
    return events
  }

  private static func event(_ row: [SQLiteValue]) -> OutgoingEvent? {
    guard row.count == 7, let id = row[1].text.flatMap({ UUIDv7($0) }), let time = row[2].integer,
      let app = row[3].text.flatMap({ AppID($0) }), let client = row[4].text,
      let type = row[5].text.flatMap({ EventType(name: $0) }), let value = row[6].blob
    else { return nil }
    return OutgoingEvent(
      id: id, time: Timestamp(milliseconds: time), app: app, partitionKey: client,
      message: .stored(EncodedEvent(type: type, value: value)))
  }

  /// The network has the event.
  func remove(_ number: Int64) { contents.update { ClientStore.remove(number, &$0) } }

  /// The network will never take the event: it is counted.
  func removeRefused(_ number: Int64) {
    contents.update { contents in
      ClientStore.remove(number, &contents)
      ClientStore.refuse(&contents)
    }
  }

  private static func remove(_ number: Int64, _ contents: inout Contents) {
    let removed = try? contents.run(
      "DELETE FROM event WHERE number = ?1 RETURNING length(value)", .integer(number))
    guard let bytes = removed?.first?.first?.integer else { return }
    contents.count -= 1
    contents.bytes -= Int(bytes)
  }

  /// Blocks until no event is left on disk, or the time has run out.
  func waitUntilNoneKept(timeoutMilliseconds: Int) {
    _ = contents.wait(timeoutMilliseconds: timeoutMilliseconds) { $0.count == 0 }
  }

  /// Lets go of the file, so that the app can open its store again at once; what is left in it stays for then.
  func close() {
    contents.update { contents in
      try? contents.noteClientID()
      contents.database = nil
    }
  }

  /// The client id that is kept; made where there is none (A8).
  func clientID() -> String {
    if let known = contents.withLock({ $0.clientID }) { return known }
    let made = ClientStore.newClientID()
    setClientID(made)
    return made
  }

  func forgetClientID() { setClientID(nil) }

  private func setClientID(_ id: String?) {
    do throws(SQLiteError) {
      try contents.withLock { contents throws(SQLiteError) in
        contents.clientID = id
        try contents.noteClientID()
      }
    } catch { tell(error) }
  }

  /// A random id of nobody yet.
  static func newClientID() -> String {
    Hexadecimal.text((0..<clientIDBytes).map { _ in UInt8.random(in: .min ... .max) })
  }

  /// When an ad for the place was last asked for, by the wall clock.
  func lastAsk(_ placement: PlacementID) -> Timestamp? {
    let rows = run("SELECT at FROM ask WHERE placement = ?1", .text(placement.text))
    return rows?.first?.first?.integer.map { Timestamp(milliseconds: $0) }
  }

  func noteAsk(_ placement: PlacementID, at time: Timestamp) {
    run("INSERT OR REPLACE INTO ask VALUES (?1, ?2)", .text(placement.text), .integer(time.milliseconds))
    run(
      "DELETE FROM ask WHERE placement NOT IN (SELECT placement FROM ask ORDER BY at DESC LIMIT ?1)",
      .integer(Int64(ClientStore.placesMaximum)))
  }

  /// - Returns: nil where it failed, which the log says.
  @discardableResult
  private func run(_ sql: String, _ parameters: SQLiteValue...) -> [[SQLiteValue]]? {
    do throws(SQLiteError) {
      return try contents.withLock { contents throws(SQLiteError) in
        try contents.run(sql, parameters)
      }
    } catch {
      tell(error)
      return nil
    }
  }

  private func tell(_ error: SQLiteError) {
    log(AdLogEntry(.warning, "the store of the client failed: \(error)"))
  }
}
