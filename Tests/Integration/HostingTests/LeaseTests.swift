import LocalProcesses
import Pipeline
import Postgres
import TestServices
import Testing

@testable import PipelineHost
@testable import Runtime

@Suite("Leases in the database", .timeLimit(.minutes(5)))
struct LeaseTests {
  private static let service = "impression_tracking"

  private func store(_ url: String, _ instance: String = "test") throws -> LeaseStore {
    LeaseStore(
      schema: Self.service, instance: instance,
      configuration: try PostgresConfiguration(url, applicationName: "leases-\(instance)"))
  }

  private func insert(_ owners: [Int32?], _ url: String) throws {
    let connection = try PostgresConnection(PostgresConfiguration(url))
    defer { connection.close() }
    for (partition, owner) in owners.enumerated() {
      try connection.execute(
        sql: "INSERT INTO impression_tracking.partition (partition, epoch, owner) VALUES ($1, 7, $2)",
        [Int32(partition), owner])
    }
  }

  private func owners(_ url: String) throws -> [Int32?] {
    let connection = try PostgresConnection(PostgresConfiguration(url))
    defer { connection.close() }
    return try connection.query("SELECT owner FROM impression_tracking.partition ORDER BY partition").map {
      try $0.decode(0)
    }
  }

  @Test("Members see each other live, and that one is gone as soon as its session has ended")
  func sessions() async throws {
    let url = try await TestDatabase.url()
    try await onOwnThread {
      let (first, second) = (try store(url, "first"), try store(url, "second"))
      try first.join()
      try second.join()
      let other = try #require(second.member)
      let seen = try #require(try first.readView(partitionCount: 4))
      #expect(seen.others == [LeaseView.Member(number: other, beat: 0, isGone: false)])
      _ = try second.readView(partitionCount: 4)
      #expect(try first.readView(partitionCount: 4)?.others.first?.beat == 1)
      #expect(
        try second.readView(partitionCount: 4)?.others.map(\.isGone) == [false], "the view of one is not in the way")
      let connection = try PostgresConnection(PostgresConfiguration(url))
      defer { connection.close() }
      _ = try connection.query(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'leases-second'")
      #expect(try first.readView(partitionCount: 4)?.others.map(\.isGone) == [true])
      try first.expel([other])
      #expect(try first.readView(partitionCount: 4)?.others == [])
      first.leave()
    }
  }

  @Test("A session that was opened ahead is the one that takes part; one that was lost meanwhile is made anew")
  func openedAhead() async throws {
    let url = try await TestDatabase.url()
    try await onOwnThread {
      let store = try store(url, "ahead")
      let connection = try PostgresConnection(PostgresConfiguration(url))
      defer { connection.close() }
      func sessions() throws -> [Int32] {
        try connection.query("SELECT pid FROM pg_stat_activity WHERE application_name = 'leases-ahead'").map {
          try $0.decode(0)
        }
      }
      try store.connect()
      let ahead = try sessions()
      #expect(ahead.count == 1)
      #expect(!store.isMember, "a session alone is no member: others would wait for it")
      #expect(try connection.query("SELECT FROM impression_tracking.member").isEmpty)
      try store.join()
      #expect(try sessions() == ahead)
      #expect(store.isMember)
      store.leave()

      let second = try self.store(url, "ahead")
      try second.connect()
      _ = try connection.query(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'leases-ahead'")
      #expect(throws: PostgresError.self, "the first question meets the lost session") { try second.join() }
      try second.join()
      #expect(second.isMember)
      second.leave()
    }
  }

  @Test("Whoever was taken for gone learns it; joining again, a member keeps what nobody has taken since")
  func expelled() async throws {
    let url = try await TestDatabase.url()
    try await onOwnThread {
      let (first, second) = (try store(url), try store(url))
      try first.join()
      try second.join()
      let (own, other) = (try #require(first.member), try #require(second.member))
      try insert([own, other, own], url)
      try second.expel([own])
      #expect(try first.readView(partitionCount: 3) == nil)
      try first.join()
      let again = try #require(first.member)
      #expect(again != own)
      #expect(try owners(url) == [again, other, again])
      let view = try #require(try first.readView(partitionCount: 3))
      #expect(view.own == again && view.others.map(\.number) == [other])
      #expect(view.partitions[0] == LeaseView.Partition(epoch: 7, owner: again))
      try first.clear([2])
      #expect(try owners(url) == [again, other, nil])
      first.leave()
      #expect(try second.readView(partitionCount: 3)?.others == [], "who leaves is no member")
      second.leave()
    }
  }

  @Test("A claim holds for the owner, and for whoever saw the partition free; all others are refused and fence nobody")
  func claims() async throws {
    let url = try await TestDatabase.url()
    try await onOwnThread {
      try insert([3], url)
      let connection = try PostgresConnection(PostgresConfiguration(url))
      defer { connection.close() }
      let sql = PipelineStatements(schema: Self.service)
      func raise(_ owner: Int32, seen epoch: Int64) throws -> Int64? {
        try connection.query(sql.raiseEpoch, [Int32(0), owner, epoch]).first?.decode(0)
      }
      #expect(try raise(4, seen: 6) == nil)
      let own = try #require(try raise(3, seen: 0))
      #expect(own > 7)
      #expect(try raise(4, seen: 7) == nil)
      let next = try #require(try raise(4, seen: own))
      #expect(next > own)
      #expect(try raise(3, seen: own) == nil, "who stood still in between comes too late")
      #expect(try owners(url) == [4])
      // A backup is put back.
      _ = try connection.execute(sql: "UPDATE \(Self.service).partition SET epoch = 7, owner = 3")
      #expect(try #require(try raise(3, seen: 0)) > next, "no epoch is given twice")
    }
  }

  @Test("What was held around a view counts as open only if it was so before and after")
  func around() {
    #expect(
      PartitionHoldings.around(
        [0: .open, 1: .open, 2: .opening, 4: .closing], [0: .open, 1: .closing, 2: .open, 3: .opening])
        == [0: .open, 1: .closing, 2: .opening, 3: .opening, 4: .closing])
    #expect(PartitionHoldings.around([0: .open], [:]) == [0: .opening])
  }
}
