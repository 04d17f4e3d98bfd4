/// Parts a stream of bytes into PostgreSQL's messages, in whatever pieces it comes.
///
/// Messages of the watched types are held back until they are whole, so that somebody may look at each and end the
/// stream before it; all others pass as they come.
struct PostgresMessages {
  /// Where the stream goes on after a piece.
  struct Passed {
    /// What may go on now.
    var bytes: [UInt8] = []
    /// Whether the stream ends behind `bytes`.
    var isEnded = false
  }

  /// A watched message that is longer passes unseen.
  static let longestWatchedBytes = 65_536
  /// One byte of type, four of length.
  private static let headerBytes = 5

  private let watched: Set<UInt8>
  private var held: [UInt8] = []
  /// Bytes left of a message that passes as it comes.
  private var rest = 0

  init(watching types: Set<Character>) { watched = Set(types.compactMap(\.asciiValue)) }

  /// Takes the next piece; `endsStream` is asked about each watched message, which begins with its type.
  mutating func pass(_ piece: ArraySlice<UInt8>, endsStream: (_ message: [UInt8]) -> Bool) -> Passed {
    var passed = Passed()
    var piece = piece
    while !piece.isEmpty {
      if rest > 0 {
        passed.bytes += piece.prefix(rest)
        let count = min(rest, piece.count)
        piece = piece.dropFirst(count)
        rest -= count
        continue
      }
      let wanted = held.count < Self.headerBytes ? Self.headerBytes : Self.wholeBytes(held)
      let count = min(wanted - held.count, piece.count)
      held += piece.prefix(count)
      piece = piece.dropFirst(count)
      guard held.count >= Self.headerBytes else { continue }
      let whole = Self.wholeBytes(held)
      if !watched.contains(held[0]) || whole > Self.longestWatchedBytes {
        rest = whole - held.count
      } else if held.count < whole {
        continue
      } else if endsStream(held) {
        passed.isEnded = true
        return passed
      }
      passed.bytes += held
      held.removeAll(keepingCapacity: true)
    }
    return passed
  }

  /// The length of a message whose header is there; the length in the header counts itself, not the type.
  private static func wholeBytes(_ message: [UInt8]) -> Int {
    let length = message[1...4].reduce(0) { $0 << 8 | Int($1) }
    return 1 + max(4, length)
  }

  /// Whether a message of a client is the statement COMMIT: a simple query, or the statement that it prepares.
  static func isCommit(fromClient message: [UInt8]) -> Bool {
    let body = message.dropFirst(headerBytes)
    let isQuery = message.first == Character("Q").asciiValue
    guard let name = isQuery ? body.startIndex - 1 : body.firstIndex(of: 0) else { return false }
    return body[(name + 1)...].prefix { $0 != 0 }.elementsEqual("COMMIT".utf8)
  }

  /// Whether a message of the server says that a COMMIT is done.
  static func isCommitDone(fromServer message: [UInt8]) -> Bool {
    message.dropFirst(headerBytes).prefix { $0 != 0 }.elementsEqual("COMMIT".utf8)
  }
}

/// What a client says first, before anything has a type.
struct PostgresOpening: Equatable {
  enum Kind: Equatable {
    /// It asks whether the connection may be encrypted; the answer is one byte, and it goes on.
    case encryption
    /// It wants another connection's statement cancelled.
    case cancel
    case start
  }

  let kind: Kind
  /// The name that the client gives itself; empty if it gives none.
  let applicationName: String

  /// The first bytes are the length, which counts itself.
  static let lengthBytes = 4
  /// PostgreSQL's own limit.
  static let longestBytes = 10_000

  /// Reads the bytes after the length.
  init(_ body: ArraySlice<UInt8>) {
    let code = body.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    kind =
      switch code {
      case 80_877_103, 80_877_104: .encryption
      case 80_877_102: .cancel
      default: .start
      }
    let words = body.dropFirst(4).split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    let index = words.firstIndex(of: "application_name")
    applicationName = index.flatMap { $0 + 1 < words.count ? words[$0 + 1] : nil } ?? ""
  }
}
