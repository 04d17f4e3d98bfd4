/// Whether the network can be reached, and what to do where it cannot.
public enum AdConnectionState: Hashable, Sendable {
  /// No answer yet. What is asked and told waits.
  case connecting
  /// The network was heard.
  case connected
  /// It cannot be reached; it is tried again and again.
  case disconnected(AdConnectionProblem)

  /// The problem, where there is one.
  public var problem: AdConnectionProblem? { if case .disconnected(let problem) = self { problem } else { nil } }
}

/// Why the network cannot be reached.
public struct AdConnectionProblem: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Kind: Hashable, Sendable {
    /// Nobody answers there: look at the address, and whether the device is on line.
    case unreachable
    /// Somebody answers, and does not know the password, or gives no right: look at the credentials.
    case unauthorized
    /// The app's topic is not there: the network's operator makes it (`handbill topics create --app ID`).
    case topicMissing
    /// Somebody answers, and is busy or stopping: it is tried again.
    case busy
    /// Somebody answers who is not the network: a captive portal that wants to be logged in to, a proxy, a wrong address.
    case notTheNetwork
    /// Anything else; the detail says what.
    case other
  }

  public let kind: Kind
  /// A sentence for the app's developer.
  public let detail: String

  package init(_ kind: Kind, _ detail: String) {
    self.kind = kind
    self.detail = detail
  }

  public var description: String { detail }
}

/// One line of what the client does, for the app's developer.
public struct AdLogEntry: Hashable, Sendable, CustomStringConvertible {
  public enum Level: Int, Hashable, Comparable, Sendable {
    /// What goes as it should.
    case debug
    /// What the developer should look at.
    case warning

    public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
  }

  public let level: Level
  public let text: String

  package init(_ level: Level, _ text: String) {
    self.level = level
    self.text = text
  }

  public var description: String { "\(level): \(text)" }
}

/// Hears each line, on whatever thread it is written: it must not block.
public typealias AdLog = @Sendable (AdLogEntry) -> Void
