import AdCore
import AdEvents
import Testing

@Suite struct CountsTests {
  @Test("M6: counts that no table has yet are counted again, from the rows, by the partition's next owner")
  func countsOfTheNextOwner() async throws {
    let partition = try await ImpressionPartition()
    try partition.run([partition.event(.viewed, 1), partition.event(.viewed, 2), partition.event(.viewed, 2)])
    try partition.run([partition.event(.rendered, 1), partition.event(.failed, 3, error: .serverFailure)])
    try partition.run([partition.failure(4)])
    #expect(try partition.counts() == [])
    try partition.takeOver()
    try partition.run([partition.event(.viewed, 5)])
    try partition.later(seconds: 11)
    let counts = ["1 -1 summer 1", "2 -1 summer 3", "4 1 summer 1", "4 6  1"]
    #expect(try partition.counts() == counts)
    try partition.takeOver()
    try partition.later(seconds: 11)
    #expect(try partition.counts() == counts)
  }

  @Test("M6: events of a minute that was written before are added to its counts")
  func countsAreAdded() async throws {
    let partition = try await ImpressionPartition()
    try partition.run([partition.event(.viewed, 1)])
    try partition.later(seconds: 11)
    try partition.run([partition.event(.viewed, 2)])
    try partition.later(seconds: 11)
    #expect(try partition.counts() == ["2 -1 summer 2"])
  }
}
