package import AdCore
internal import Crypto

/// What an explanation is asked for.
package enum ExplainSubject: Hashable, Sendable {
  /// A serve id or a request id: both are UUIDs of version 7, and only the tables tell which it is.
  case id(UUIDv7)
  /// A serve token, with the serve id that stands in it in clear: what is known of its authenticity is ``TokenAuthenticity``.
  case token(ServeID, [UInt8])

  private static let idBytes = 16

  /// The id that it names.
  package var id: UUIDv7 {
    switch self {
    case .id(let id), .token(let id, _): id
    }
  }

  /// Reads an id as text (`0197e4a2-…`), or what stands in JSON: an id's 16 bytes or a serve token in base64, of either
  /// alphabet, with or without padding. Nil for anything else.
  package static func read(_ text: String) -> ExplainSubject? {
    if let id = UUIDv7(text) { return .id(id) }
    // Tokens and ids are far shorter; nothing longer is decoded.
    guard text.utf8.count <= 2 * ServeToken.bytesMaximum else { return nil }
    let plain = text.replacing("-", with: "+").replacing("_", with: "/").replacing("=", with: "")
    let padding = String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
    guard let bytes = Base64.decode(plain + padding) else { return nil }
    if bytes.count == idBytes {
      let halves = stride(from: 0, to: idBytes, by: 8).map { start in
        bytes[start..<start + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      }
      return UUIDv7(high: halves[0], low: halves[1]).map { .id($0) }
    }
    return ServeToken.serveID(of: bytes).map { .token($0, bytes) }
  }
}
