import AdBasics
import AdEvents
import Foundation
import LocalProcesses
import SQLite
import Synchronization
import Testing

@testable import AdClient

extension TemporaryFolder {
  /// Where a client keeps what it has to: a folder that is not there yet.
  var storage: AdStorage { .folder(path("sdk")) }
}

let sampleApp = "sample-app"

/// The view of an ad whose token is `token`.
func sampleEvent(_ token: UInt8, client: String = "client-1") throws -> OutgoingEvent {
  OutgoingEvent(
    id: DeviceClock.newID(), time: DeviceClock.wall, app: try #require(AppID(sampleApp)), partitionKey: client,
    message: .impression(
      ImpressionEvent(
        kind: .viewed, subject: .serve(token: [token]), age: .milliseconds(1_000), error: nil,
        identity: EventIdentity(idHash: 0, time: nil))))
}

/// The token's first byte, by which the tests tell events apart.
func token(_ event: OutgoingEvent) -> UInt8? {
  guard case .impression(let impression) = event.opened, case .serve(let token) = impression.subject else { return nil }
  return token.first
}

extension ClientStore {
  /// What can be read, however the disk is.
  func kept(after number: Int64 = 0, limit: Int = 100) -> [Kept] { events(after: number, limit: limit) ?? [] }

  /// The number of an event that was taken.
  func keep(_ event: OutgoingEvent) -> Int64? { if case .kept(let number) = append(event) { number } else { nil } }
}

/// The store's database, opened by somebody else.
func openedDatabase(_ folder: TemporaryFolder) throws -> SQLiteDatabase {
  try SQLiteDatabase(path: folder.path("sdk/\(sampleApp).sqlite"))
}

/// Has the disk take no note until the table has a row.
func fillDisk(_ folder: TemporaryFolder, until table: String) throws {
  let database = try openedDatabase(folder)
  for change in ["INSERT", "UPDATE", "DELETE"] {
    try database.run(
      """
      CREATE TRIGGER full_\(change) BEFORE \(change) ON note WHEN NOT EXISTS (SELECT * FROM \(table))
      BEGIN SELECT RAISE(ABORT, 'the disk is full'); END
      """)
  }
}

@Suite("What the client keeps on disk")
struct ClientStoreTests {
  private func open(_ folder: TemporaryFolder, log: @escaping AdLog = { _ in }) throws -> ClientStore {
    let app = try #require(AppID(sampleApp))
    let store = ClientStore.open(folder.storage, app: app, log: log)
    return try #require(store)
  }

  @Test("An event comes back as it was given, in order, after the process is gone")
  func survives() throws {
    let folder = try TemporaryFolder()
    let events = try (1...5).map { try sampleEvent(UInt8($0), client: "client-\($0 % 2)") }
    do {
      let store = try open(folder)
      for event in events { #expect(store.keep(event) != nil) }
      store.remove(2)
    }
    let store = try open(folder)
    let kept = store.kept()
    #expect(kept.map { token($0.event) } == [1, 3, 4, 5])
    #expect(kept.map(\.event.id) == [events[0], events[2], events[3], events[4]].map(\.id))
    #expect(kept.map(\.event.partitionKey) == ["client-1", "client-1", "client-0", "client-1"])
    #expect(kept.first?.event.time == events[0].time)
    #expect(store.eventCount == 4)
    #expect(store.kept(after: 3, limit: 1).map(\.number) == [4])
  }

  @Test("A full queue refuses the newest and counts it, also over the process's end")
  func full() throws {
    let folder = try TemporaryFolder()
    do {
      let store = try open(folder)
      let event = try sampleEvent(1)
      for _ in 0..<ClientStore.eventsMaximum {
        let another = OutgoingEvent(
          id: DeviceClock.newID(), time: event.time, app: event.app, partitionKey: event.partitionKey,
          message: event.message)
        #expect(store.keep(another) != nil)
      }
      #expect(store.keep(try sampleEvent(2)) == nil)
      #expect(store.keep(try sampleEvent(3)) == nil)
      #expect(store.refusedCount == 2 && store.eventCount == ClientStore.eventsMaximum)
      store.remove(1)
      #expect(store.keep(try sampleEvent(4)) != nil, "there is room again")
    }
    #expect(try open(folder).refusedCount == 2)
  }

  @Test("The queue's bytes are bounded too, and what the network has makes room for as many")
  func fullOfBytes() throws {
    let store = try ClientStore(path: nil)
    let event = try sampleEvent(1)
    func large(_ byteCount: Int) -> OutgoingEvent {
      OutgoingEvent(
        id: DeviceClock.newID(), time: event.time, app: event.app, partitionKey: event.partitionKey,
        message: .stored(EncodedEvent(type: event.encoded.type, value: Array(repeating: 0, count: byteCount))))
    }
    let quarter = ClientStore.bytesMaximum / 4
    let numbers = (0..<4).compactMap { _ in store.keep(large(quarter)) }
    #expect(store.keep(event) == nil && store.refusedCount == 1)
    store.remove(try #require(numbers.dropFirst().first))
    #expect(store.keep(large(quarter + 1)) == nil)
    #expect(store.keep(large(quarter)) != nil)
    #expect(store.keep(event) == nil && store.eventCount == 4)
  }

  @Test("A8: the client id is made once, kept, and another after it was forgotten")
  func clientID() throws {
    let folder = try TemporaryFolder()
    let first = try open(folder).clientID()
    #expect(first.count == 32)
    let store = try open(folder)
    #expect(store.clientID() == first)
    store.forgetClientID()
    #expect(store.clientID() != first)
  }

  @Test(
    "A8: a client id that a full disk did not take is written with what it takes next, and at the latest at the end",
    arguments: [true, false])
  func clientIDAfterFullDisk(isClosed: Bool) throws {
    let folder = try TemporaryFolder()
    let old = try open(folder).clientID()
    try fillDisk(folder, until: "event")
    func reset() throws -> String {
      let store = try open(folder)
      #expect(store.clientID() == old)
      store.forgetClientID()
      let made = store.clientID()
      #expect(made != old)
      #expect(store.keep(try sampleEvent(1)) != nil, "there is room from here on")
      if isClosed { store.close() } else { #expect(store.keep(try sampleEvent(2)) != nil) }
      return made
    }
    let made = try reset()
    #expect(try open(folder).clientID() == made)
  }

  @Test("When a place was last asked for is kept")
  func asks() throws {
    let folder = try TemporaryFolder()
    let place = try #require(PlacementID("home"))
    try open(folder).noteAsk(place, at: Timestamp(milliseconds: 5))
    let store = try open(folder)
    #expect(store.lastAsk(place) == Timestamp(milliseconds: 5))
    #expect(store.lastAsk(try #require(PlacementID("other"))) == nil)
  }

  @Test("A closed store lets go of its file at once, keeps what is in it, and takes nothing more")
  func closed() throws {
    let folder = try TemporaryFolder()
    let first = try open(folder)
    #expect(first.keep(try sampleEvent(1)) != nil)
    first.close()
    let second = try open(folder)
    #expect(second.eventCount == 1)
    #expect(first.keep(try sampleEvent(2)) == nil && first.eventCount == 1)
    first.remove(1)
    #expect(second.kept().count == 1)
  }

  @Test("Where the disk gives no file the client works in memory, and says so")
  func noDisk() throws {
    let entries = Mutex<[AdLogEntry]>([])
    let app = try #require(AppID(sampleApp))
    let store = ClientStore.open(.folder("/dev/null/none"), app: app) { entry in entries.withLock { $0.append(entry) } }
    #expect(entries.withLock { $0.map(\.level) } == [.warning])
    #expect(try store?.keep(sampleEvent(1)) != nil)
    #expect(store?.eventCount == 1)
  }

  @Test("A file that cannot be read is set aside and a new one begun; the log says so once", arguments: [true, false])
  func unreadable(isNoDatabase: Bool) throws {
    let folder = try TemporaryFolder()
    let path = folder.path("sdk/\(sampleApp).sqlite")
    let first = try open(folder)
    #expect(first.keep(try sampleEvent(1)) != nil)
    first.close()
    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    // Its header, or everything behind its first page.
    for index in isNoDatabase ? 0..<100 : 4_096..<bytes.count { bytes[index] = 0xFF }
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    let entries = Mutex<[AdLogEntry]>([])
    let log: AdLog = { entry in entries.withLock { $0.append(entry) } }
    let second = try open(folder, log: log)
    #expect(second.eventCount == 0)
    #expect(second.keep(try sampleEvent(2)) != nil)
    second.close()
    #expect(try Data(contentsOf: URL(fileURLWithPath: path + ".unreadable")) == Data(bytes))
    #expect(try open(folder, log: log).kept().map { token($0.event) } == [2])
    #expect(entries.withLock { $0.count } == 1)
  }

  @Test("An event that cannot be read any more is dropped, counted and logged, and takes no other's place")
  func unreadableEvent() throws {
    let folder = try TemporaryFolder()
    do {
      let store = try open(folder)
      for number in 1...4 as ClosedRange<UInt8> { #expect(store.keep(try sampleEvent(number)) != nil) }
    }
    try openedDatabase(folder).run("UPDATE event SET type = 'of another version' WHERE number = 1")
    let entries = Mutex<[AdLogEntry]>([])
    let store = try open(folder) { entry in entries.withLock { $0.append(entry) } }
    #expect(store.kept(limit: 2).map { token($0.event) } == [2, 3])
    #expect(store.refusedCount == 1 && store.eventCount == 3)
    #expect(entries.withLock { $0.map(\.level) } == [.warning])
  }

  @Test("A second client of the app hears that another has its file, and works in memory")
  func second() throws {
    let folder = try TemporaryFolder()
    let first = try open(folder)
    let entries = Mutex<[AdLogEntry]>([])
    let second = try open(folder) { entry in entries.withLock { $0.append(entry) } }
    #expect(
      entries.withLock { $0.map(\.text) }
        == ["nothing is kept on disk: another AdNetworkClient has it: close() it first"])
    #expect(second.keep(try sampleEvent(1)) != nil)
    #expect(first.eventCount == 0)
  }
}
