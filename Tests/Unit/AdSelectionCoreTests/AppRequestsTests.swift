import AdCore
import Testing

@testable import AdSelectionCore
@testable import Pipeline

@Suite("B8: how many requests of an app are answered with ads in an hour")
struct AppRequestsTests {
  private func at(_ hour: Int64, _ milliseconds: Int64 = 0) -> Timestamp {
    Timestamp(milliseconds: hour * 3_600_000 + milliseconds)
  }

  @Test("as many as the cap says, of each app and hour, and no more")
  func cap() throws {
    let (chess, go) = (try #require(AppID("chess")), try #require(AppID("go")))
    var requests = AppRequests()
    func count(_ app: AppID, _ moment: Timestamp, _ maximum: Int64) -> Bool {
      requests.count(app, at: moment, maximum: maximum)
    }
    let judged = (0..<5).map { count(chess, at(10, $0 * 1_000), 3) }
    #expect(judged == [true, true, true, false, false])
    #expect(count(go, at(10), 1))
    #expect(!count(chess, at(10, 3_599_999), 3))
    #expect(count(chess, at(11), 1))
    // A late one counts in its own hour, which is remembered for one hour more.
    #expect(!count(chess, at(10), 3))
    #expect(!count(chess, at(11), 1))
  }

  @Test("after a restart it goes on from what was counted")
  func restored() throws {
    let chess = try #require(AppID("chess"))
    var requests = AppRequests([AppRequests.Key(app: chess, at: at(10)): 2])
    let judged = (0..<2).map { _ in requests.count(chess, at: at(10), maximum: 3) }
    #expect(judged == [true, false])
  }

  @Test("the partitions of a process share how many apps are counted: who asks again and again stays counted")
  func bounded() throws {
    let bound = SharedBound(64)
    let chess = try #require(AppID("chess"))
    var requests = AppRequests(sharing: bound)
    let others = AppRequests([AppRequests.Key(app: chess, at: at(10)): 1], sharing: bound)
    for number in 0..<1_000 {
      let once = try #require(AppID("app-\(number)"))
      let isWithin = requests.count(once, at: at(10), maximum: 1)
      #expect(isWithin)
      let isChessWithin = requests.count(chess, at: at(10), maximum: 900)
      #expect(isChessWithin == (number < 900))
    }
    // The other partition holds one, and this one no more than its half.
    #expect((2...33).contains(bound.held))
    withExtendedLifetime(others) {}
  }
}
