/// Where an image lies and, where the text says so, what it must be: catalogue and tables hold both as one URL, whose
/// fragment names the contents, as in `https://a.example/1.png#sha256=HEX&bytes=4711`.
///
/// Instead of a whole URL there may be a path, which is at the edge that gave the answer.
public struct ImageReference: Hashable, Sendable {
  /// The largest image, in bytes: what a client has to make room for.
  public static let bytesMaximum = 2_097_152
  /// Where an edge has images, by the hash of their contents.
  public static let edgePath = "/v1/creatives/"

  /// The bytes that must lie at the URL.
  public struct Contents: Hashable, Sendable {
    /// Their SHA-256, 32 bytes.
    public let sha256: [UInt8]
    /// How many they are: 1 to ``ImageReference/bytesMaximum``.
    public let byteCount: Int

    /// Nil where it is no hash, or a number of bytes that no image may have.
    public init?(sha256: [UInt8], byteCount: Int) {
      guard sha256.count == 32, (1...ImageReference.bytesMaximum).contains(byteCount) else { return nil }
      self.sha256 = sha256
      self.byteCount = byteCount
    }

    /// The hash in hexadecimal, in lower case: its name at an edge.
    public var name: String {
      let digits = Array("0123456789abcdef".utf8)
      return String(decoding: sha256.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// The SHA-256 that a ``name`` is; nil for any other text.
    public static func sha256(named name: some StringProtocol) -> [UInt8]? {
      let digits = name.utf8.map { byte -> UInt8? in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
      }
      let values = digits.compactMap { $0 }
      guard digits.count == 64, values.count == 64 else { return nil }
      return (0..<32).map { values[2 * $0] << 4 | values[2 * $0 + 1] }
    }
  }

  private static let mark = "#sha256="
  private static let countMark = "&bytes="

  /// Without what it says of its contents.
  public let url: String
  /// Nil where nobody has said.
  public let contents: Contents?

  public init(url: String, contents: Contents?) {
    self.url = url
    self.contents = contents
  }

  /// Reads it as the catalogue has it. What is not just such a fragment stays part of the URL.
  public init(_ text: String) {
    guard let hash = text.lastIndex(of: "#"), let contents = Self.contents(text[hash...]) else {
      self.init(url: text, contents: nil)
      return
    }
    self.init(url: String(text[..<hash]), contents: contents)
  }

  /// An image that an edge has.
  public init(atEdge contents: Contents) { self.init(url: Self.edgePath + contents.name, contents: contents) }

  /// As the catalogue has it.
  public var text: String {
    contents.map { "\(url)\(Self.mark)\($0.name)\(Self.countMark)\($0.byteCount)" } ?? url
  }

  /// Where a client finds it that was answered by the edge at `base`.
  public func url(at base: String) -> String {
    guard url.utf8.first == UInt8(ascii: "/") else { return url }
    return (base.hasSuffix("/") ? String(base.dropLast()) : base) + url
  }

  /// Whether it can be fetched, and says of its contents either nothing or what can be checked.
  public var isSound: Bool {
    guard contents != nil || !url.contains(Self.mark), url.utf8.count <= URLText.bytesMaximum else { return false }
    return URLText.isWeb(url)
      || url.hasPrefix("/") && !url.hasPrefix("//") && url.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  private static func contents(_ fragment: Substring) -> Contents? {
    guard fragment.hasPrefix(mark) else { return nil }
    let rest = fragment.dropFirst(mark.count)
    let name = rest.prefix(64)
    let count = rest.dropFirst(64)
    guard count.hasPrefix(countMark), let sha256 = Contents.sha256(named: name) else { return nil }
    let digits = count.dropFirst(countMark.count)
    guard let number = Int(digits), String(number) == digits else { return nil }
    return Contents(sha256: sha256, byteCount: number)
  }
}
