import Testing

@testable import TestServers

@Suite struct PostgresMessagesTests {
  /// A message with its type and length.
  private func message(_ type: Character, _ body: [UInt8]) -> [UInt8] {
    let length = UInt32(body.count + 4)
    return [type.asciiValue ?? 0] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> $0) } + body
  }

  private func text(_ text: String) -> [UInt8] { Array(text.utf8) + [0] }

  /// What passes of a stream that comes in pieces of one size, up to its end.
  private func pass(_ stream: [UInt8], pieces: Int) -> PostgresMessages.Passed {
    var messages = PostgresMessages(watching: ["P", "Q"])
    var result = PostgresMessages.Passed()
    var rest = stream[...]
    while !rest.isEmpty, !result.isEnded {
      let passed = messages.pass(rest.prefix(pieces)) { PostgresMessages.isCommit(fromClient: $0) }
      result.bytes += passed.bytes
      result.isEnded = passed.isEnded
      rest = rest.dropFirst(pieces)
    }
    return result
  }

  @Test("a stream ends before COMMIT, in whatever pieces it comes", arguments: [1, 2, 5, 7, 64, 100_000])
  func commit(pieces: Int) {
    let rows = message("d", Array(repeating: 7, count: 70_000))
    let before = message("P", text("s1") + text("SELECT 'COMMIT'") + [0, 0]) + rows + message("Q", text("COMMITTED"))
    for commit in [message("P", text("") + text("COMMIT") + [0, 0]), message("Q", text("COMMIT"))] {
      let passed = pass(before + commit + rows, pieces: pieces)
      #expect(passed.isEnded)
      #expect(passed.bytes == before)
    }
    let whole = pass(before + rows, pieces: pieces)
    #expect(!whole.isEnded)
    #expect(whole.bytes == before + rows)
  }

  @Test("COMMIT is done when the server says so, and by nothing else")
  func done() {
    #expect(PostgresMessages.isCommitDone(fromServer: message("C", text("COMMIT"))))
    for other in ["ROLLBACK", "COPY 7", ""] {
      #expect(!PostgresMessages.isCommitDone(fromServer: message("C", text(other))))
    }
  }

  @Test("a client's name is read from its first message")
  func opening() {
    let start = PostgresOpening(
      ([0, 3, 0, 0] + text("user") + text("u") + text("application_name") + text("a b") + [0])[...])
    #expect(start.kind == .start)
    #expect(start.applicationName == "a b")
    #expect(PostgresOpening([4, 210, 22, 47]).kind == .encryption)
    #expect(PostgresOpening([4, 210, 22, 46]).kind == .cancel)
  }
}
