/// What the rules need of a URL's text, and no more.
public enum URLText {
  /// The longest URL of an image or a destination, in bytes.
  public static let bytesMaximum = 2_048
  /// The longest name of a host, in bytes.
  public static let hostBytesMaximum = 253

  /// The host of a URL with an authority (`scheme://host…`): in lower case, without user, port, and a dot at its end.
  /// Nil where there is none. As browsers do, a backslash ends the authority like a slash.
  public static func host(of url: String) -> String? {
    let bytes = Array(url.utf8)
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), isScheme(bytes[..<colon]),
      bytes.count > colon + 2, isSlash(bytes[colon + 1]), isSlash(bytes[colon + 2])
    else { return nil }
    let afterSlashes = bytes[(colon + 3)...]
    var authority = afterSlashes.prefix { !isSlash($0) && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    if let at = authority.lastIndex(of: UInt8(ascii: "@")) { authority = authority[(at + 1)...] }
    var host: ArraySlice<UInt8>
    if authority.first == UInt8(ascii: "["), let end = authority.firstIndex(of: UInt8(ascii: "]")) {
      host = authority[...end]
    } else {
      host = authority.prefix { $0 != UInt8(ascii: ":") }
    }
    if host.last == UInt8(ascii: ".") { host = host.dropLast() }
    guard !host.isEmpty else { return nil }
    return String(decoding: host.map(lowercased), as: UTF8.self)
  }

  /// A host and all domains that it lies in: of `a.b.example` also `b.example` and `example`. What is longer than a name
  /// can be is left out.
  public static func domains(of host: String) -> [String] {
    var domains: [String] = []
    var rest = host[...]
    while true {
      if rest.utf8.count <= hostBytesMaximum { domains.append(String(rest)) }
      guard let dot = rest.firstIndex(of: ".") else { return domains }
      rest = rest[rest.index(after: dot)...]
    }
  }

  /// Whether `url` is an absolute http or https URL of printable ASCII, with a host, within ``bytesMaximum``.
  public static func isWeb(_ url: String) -> Bool {
    let scheme = url.utf8.prefix { $0 != UInt8(ascii: ":") }.map(lowercased)
    return (scheme == Array("https".utf8) || scheme == Array("http".utf8)) && isAbsolute(url)
  }

  /// Whether `url` is an absolute URL of printable ASCII with any scheme and a host, within ``bytesMaximum``.
  public static func isAbsolute(_ url: String) -> Bool {
    url.utf8.count <= bytesMaximum && url.utf8.allSatisfy { (0x21...0x7E).contains($0) } && host(of: url) != nil
  }

  /// Whether `text` can be a host to compare with: lower-case letters, digits, dots and hyphens, no dot at either end.
  public static func isHost(_ text: String) -> Bool {
    guard (1...hostBytesMaximum).contains(text.utf8.count), !text.hasPrefix("."), !text.hasSuffix("."),
      !text.contains("..")
    else {
      return false
    }
    return text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
        UInt8(ascii: "."):
        true
      default: false
      }
    }
  }

  private static func isScheme(_ bytes: ArraySlice<UInt8>) -> Bool {
    guard let first = bytes.first, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(lowercased(first)) else {
      return false
    }
    return bytes.allSatisfy { byte in
      switch lowercased(byte) {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"),
        UInt8(ascii: "-"), UInt8(ascii: "."):
        true
      default: false
      }
    }
  }

  private static func isSlash(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") }

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte + 32 : byte
  }
}
