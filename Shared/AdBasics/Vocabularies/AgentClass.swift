/// What kind of program asks, as its `User-Agent` says to the edge. The numbers are stored and never change meaning.
package enum AgentClass: UInt8, Sendable, Vocabulary {
  case unknown = 0
  /// The client SDK, or an app that names itself as one does.
  case app = 1
  case browser = 2
  /// A tool or library that fetches pages.
  case tool = 3

  package static let vocabulary = "agent_class"

  package var meaning: String {
    switch self {
    case .unknown: "a program that does not say what it is"
    case .app: "an app"
    case .browser: "a browser"
    case .tool: "a tool or library that fetches pages"
    }
  }
}
