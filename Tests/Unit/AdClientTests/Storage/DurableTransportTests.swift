import AdBasics
import AdEvents
import Foundation
import LocalProcesses
import SQLite
import Synchronization
import Testing

@testable import AdClient

/// A network that takes events and acknowledges them when the test says so.
private final class HoldingTransport: NetworkTransport {
  private struct State {
    var events: [OutgoingEvent] = []
    var waiting: [@Sendable (EventEnd) -> Void] = []
    var isOpen = false
  }

  private let state = Mutex(State())
  /// How many it takes at most before it is opened.
  private let room: Int
  /// Whether it is opened while it refuses an event.
  private let opensWhenFull: Bool

  init(room: Int = .max, opensWhenFull: Bool = false) {
    self.room = room
    self.opensWhenFull = opensWhenFull
  }

  var tokens: [UInt8?] { state.withLock { $0.events.map(token) } }
  var ids: [UUIDv7] { state.withLock { $0.events.map(\.id) } }
  var count: Int { state.withLock { $0.events.count } }

  func send(
    _ request: AdRequest, acknowledged: @escaping @Sendable () -> Void,
    completion: @escaping @Sendable (RequestResult) -> Void
  ) { completion(.noAnswer) }

  func send(_ event: OutgoingEvent, ended: @escaping @Sendable (EventEnd) -> Void) -> Bool {
    let (isTaken, isOpen) = state.withLock { state in
      guard state.isOpen || state.events.count < room else { return (false, false) }
      state.events.append(event)
      if !state.isOpen { state.waiting.append(ended) }
      return (true, state.isOpen)
    }
    if isOpen { ended(.acknowledged) }
    if !isTaken, opensWhenFull { open() }
    return isTaken
  }

  /// With any time it ends what waits, as the way over the edge, where only this ends a pause.
  func close(timeoutMilliseconds: Int) -> Bool {
    if timeoutMilliseconds > 0 { open() }
    return state.withLock { $0.waiting.isEmpty }
  }

  /// Ends what was sent, and acknowledges at once whatever comes.
  func open(_ end: EventEnd = .acknowledged) {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for ended in waiting { ended(end) }
  }
}

@Suite("Events outlive the process")
struct DurableTransportTests {
  private func store(_ folder: TemporaryFolder, log: @escaping AdLog = { _ in }) throws -> ClientStore {
    let app = try #require(AppID(sampleApp))
    let store = ClientStore.open(folder.storage, app: app, log: log)
    return try #require(store)
  }

  /// A folder whose disk takes no event of the client `unkept`.
  private func fullFolder() throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try store(folder).close()
    try openedDatabase(folder).run(
      "CREATE TRIGGER full BEFORE INSERT ON event WHEN NEW.client = 'unkept' BEGIN SELECT RAISE(ABORT, 'full'); END")
    return folder
  }

  @Test("Off line and ended twice, then on line: every event arrives once, in order")
  func endedTwice() throws {
    let folder = try TemporaryFolder()
    for life in 0..<2 as Range<UInt8> {
      let transport = DurableTransport(HoldingTransport(), store: try store(folder))
      for number in 1...50 as ClosedRange<UInt8> {
        #expect(transport.send(try sampleEvent(life * 50 + number), ended: { _ in }))
      }
    }
    let network = HoldingTransport()
    let kept = try store(folder)
    let transport = DurableTransport(network, store: kept)
    network.open()
    #expect(network.tokens == (1...100).map { UInt8($0) })
    #expect(Set(network.ids).count == 100)
    #expect(kept.eventCount == 0)
    #expect(transport.close(timeoutMilliseconds: 0))
  }

  @Test("A bounded number is under way on a dead network; acknowledgements bring the next, in order")
  func bounded() throws {
    let network = HoldingTransport()
    let kept = try ClientStore(path: nil)
    let transport = DurableTransport(network, store: kept)
    let acknowledged = Atomic(0)
    for number in 0..<250 {
      let isTaken = transport.send(try sampleEvent(UInt8(number))) {
        if $0 == .acknowledged { acknowledged.add(1, ordering: .relaxed) }
      }
      #expect(isTaken)
    }
    #expect(network.count == DurableTransport.underWayMaximum)
    #expect(acknowledged.load(ordering: .relaxed) == 0)
    network.open()
    #expect(network.tokens == (0..<250).map { UInt8($0) })
    #expect(acknowledged.load(ordering: .relaxed) == 250)
    #expect(kept.eventCount == 0)
  }

  @Test("What the transport has no room for goes on in its order once there is some, and nothing is left out")
  func noRoom() throws {
    let network = HoldingTransport(room: 2)
    let kept = try ClientStore(path: nil)
    let transport = DurableTransport(network, store: kept)
    for number in 0..<5 as Range<UInt8> { #expect(transport.send(try sampleEvent(number), ended: { _ in })) }
    #expect(network.tokens == [0, 1] && kept.eventCount == 5)
    network.open()
    #expect(network.tokens == [0, 1, 2, 3, 4] && kept.eventCount == 0)
  }

  @Test("What was sent and not acknowledged is sent again under its id: to the network it is one event")
  func again() throws {
    let folder = try TemporaryFolder()
    let first = HoldingTransport()
    do {
      let transport = DurableTransport(first, store: try store(folder))
      #expect(transport.send(try sampleEvent(1), ended: { _ in }))
    }
    let second = HoldingTransport()
    let transport = DurableTransport(second, store: try store(folder))
    #expect(second.ids == first.ids)
    #expect(transport.connection == .connected)
  }

  @Test("What the network will never take is gone from the disk, counted, and not told as acknowledged")
  func refused() throws {
    let folder = try TemporaryFolder()
    let network = HoldingTransport()
    let kept = try store(folder)
    let transport = DurableTransport(network, store: kept)
    let ends = Mutex<[EventEnd]>([])
    for number in 0..<3 as Range<UInt8> {
      let isTaken = transport.send(try sampleEvent(number)) { end in ends.withLock { $0.append(end) } }
      #expect(isTaken)
    }
    network.open(.refused)
    #expect(ends.withLock { $0 } == [.refused, .refused, .refused])
    #expect(kept.eventCount == 0 && kept.refusedCount == 3)
    #expect(transport.close(timeoutMilliseconds: 0))
    #expect(try store(folder).refusedCount == 3, "the count outlives the process")
  }

  @Test("What the disk does not take gets to the network all the same; what that refuses is counted")
  func fullDisk() throws {
    let network = HoldingTransport(room: 2)
    let folder = try fullFolder()
    let kept = try store(folder)
    let transport = DurableTransport(network, store: kept)
    let ends = Mutex<[EventEnd]>([])
    func send(_ number: UInt8) throws -> Bool {
      transport.send(try sampleEvent(number, client: "unkept")) { end in ends.withLock { $0.append(end) } }
    }
    #expect(try send(1))
    #expect(try send(2))
    #expect(try !send(3), "the network takes no more than it has room for")
    #expect(network.tokens == [1, 2] && kept.eventCount == 2 && kept.refusedCount == 1)
    network.open(.refused)
    #expect(ends.withLock { $0 } == [.refused, .refused] && kept.eventCount == 0 && kept.refusedCount == 3)
    #expect(transport.close(timeoutMilliseconds: 0))
    #expect(try !send(4), "it is closed")
  }

  @Test("Closing does not wait for what the disk did not take: it ends the network's pause, with the time that is left")
  func closingOnFullDisk() throws {
    let network = HoldingTransport()
    let folder = try fullFolder()
    let kept = try store(folder)
    let transport = DurableTransport(network, store: kept)
    #expect(transport.send(try sampleEvent(1, client: "unkept"), ended: { _ in }))
    #expect(network.tokens == [1] && kept.eventCount == 1)
    #expect(transport.close(timeoutMilliseconds: 10_000))
    #expect(kept.eventCount == 0)
    let without = HoldingTransport()
    let again = try store(folder)
    let other = DurableTransport(without, store: again)
    #expect(other.send(try sampleEvent(2, client: "unkept"), ended: { _ in }))
    #expect(!other.close(timeoutMilliseconds: 0) && again.eventCount == 1, "it had no time")
  }

  @Test(
    "What waits on disk goes on once an event that the disk did not take has made room, also while it is being refused",
    arguments: [true, false])
  func roomAfterFullDisk(whileRefused: Bool) throws {
    let network = HoldingTransport(room: 1, opensWhenFull: whileRefused)
    let folder = try fullFolder()
    let kept = try store(folder)
    let transport = DurableTransport(network, store: kept)
    #expect(transport.send(try sampleEvent(1, client: "unkept"), ended: { _ in }))
    #expect(transport.send(try sampleEvent(2), ended: { _ in }))
    if !whileRefused {
      #expect(network.tokens == [1] && kept.eventCount == 2)
      network.open()
    }
    #expect(network.tokens == [1, 2] && kept.eventCount == 0)
    #expect(transport.close(timeoutMilliseconds: 0))
  }

  @Test("Whoever is told that the disk takes nothing, or gives what cannot be read, may flush there and then")
  func flushesWhenTold() throws {
    let folder = try fullFolder()
    try openedDatabase(folder).run(
      """
      CREATE TRIGGER spoilt AFTER INSERT ON event WHEN NEW.client = 'spoilt'
      BEGIN UPDATE event SET type = 'of another version' WHERE number = NEW.number; END
      """)
    let told = Mutex<(transport: DurableTransport?, count: Int)>((nil, 0))
    let kept = try store(folder) { _ in
      let transport = told.withLock { told in
        told.count += 1
        return told.transport
      }
      transport?.flush()
    }
    let network = HoldingTransport()
    let transport = DurableTransport(network, store: kept)
    told.withLock { $0.transport = transport }
    defer { told.withLock { $0.transport = nil } }
    #expect(transport.send(try sampleEvent(1, client: "unkept"), ended: { _ in }))
    #expect(transport.send(try sampleEvent(2, client: "spoilt"), ended: { _ in }))
    #expect(transport.send(try sampleEvent(3), ended: { _ in }))
    #expect(network.tokens == [1, 3] && kept.eventCount == 2 && kept.refusedCount == 1)
    #expect(told.withLock { $0.count } == 2)
  }

  @Test("What found no room beside others' events on a shared way goes on at the latest when its client ends")
  func roomOfOthers() throws {
    let network = HoldingTransport(room: 1)
    #expect(network.send(try sampleEvent(1), ended: { _ in }))
    let kept = try ClientStore(path: nil)
    let transport = DurableTransport(network, store: kept)
    #expect(transport.send(try sampleEvent(2), ended: { _ in }))
    network.open()
    #expect(network.tokens == [1] && kept.eventCount == 1)
    #expect(transport.close(timeoutMilliseconds: 0))
    #expect(network.tokens == [1, 2] && kept.eventCount == 0)
  }

  @Test("A process that is killed loses nothing that it was told it has")
  func killed() async throws {
    let path = "/tmp/handbill-killed-\(getpid()).sqlite"
    defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) } }
    await #expect(processExitsWith: .signal(SIGKILL)) {
      let store = try ClientStore(path: "/tmp/handbill-killed-\(getppid()).sqlite")
      for number in 1...20 as ClosedRange<UInt8> { _ = store.keep(try sampleEvent(number)) }
      kill(getpid(), SIGKILL)
    }
    let kept = try ClientStore(path: path)
    #expect(kept.kept().map { token($0.event) } == (1...20).map { UInt8($0) })
  }
}
