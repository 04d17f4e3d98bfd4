import AdBasics
import Runtime
import Testing

@testable import Handbill

@Suite("What a person types")
struct InvocationTests {
  @Test("what is no app's id, or is not there, is told with the form that ids have", arguments: ["Chess", "-a", nil])
  func app(text: String?) throws {
    #expect(throws: UsageError("--app must be an app's id: 1 to 40 of a-z, 0-9 and -, the first not -")) {
      try Invocation.app(text, of: "--app")
    }
    #expect(try Invocation.app("chess", of: "APP") == AppID("chess"))
  }
}
