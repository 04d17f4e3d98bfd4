import Foundation
import Testing

/// Quotes of the rules that `docs/rules.md` numbers, such as B4 or I7.
enum RuleQuotes {
  /// The letters of the families.
  private static let families = Set("SADTEMBI".utf8)
  /// What stands before a letter and number that are no rule: a part of a word, of an escape, of a longer number.
  private static let noneBefore = Set("_%{!\\-=+#".utf8)

  /// The quotes of a line: a family's letter and one or two digits as a word of their own; a letter behind may name a
  /// part of the rule, as in I7a.
  static func quotes(_ line: String) -> [String] {
    let bytes = Array(line.utf8)
    return bytes.indices.compactMap { start in
      guard families.contains(bytes[start]) else { return nil }
      if start > 0, isWord(bytes[start - 1]) || noneBefore.contains(bytes[start - 1]) { return nil }
      let digits = bytes[(start + 1)...].prefix(while: isDigit)
      guard (1...2).contains(digits.count), digits.count == 1 || digits.first != UInt8(ascii: "0") else { return nil }
      var rest = bytes[digits.endIndex...]
      if let part = rest.first, (UInt8(ascii: "a")...UInt8(ascii: "c")).contains(part) { rest = rest.dropFirst() }
      if let after = rest.first, isWord(after) || after == UInt8(ascii: "_") { return nil }
      return String(decoding: bytes[start..<digits.endIndex], as: UTF8.self)
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  private static func isWord(_ byte: UInt8) -> Bool {
    isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }

  /// The rules that the document defines: the anchors of its tables' rows.
  static func defined(_ document: SourceFile) -> [String] {
    document.lines.compactMap { line in
      guard let row = line.wholeMatch(of: /\| <a id="([a-z]\d+)"><\/a>([A-Z]\d+) \|.*/),
        row.output.1.uppercased() == row.output.2
      else { return nil }
      return String(row.output.2)
    }
  }

  /// The quotes of a file, each with the place where it stands.
  static func quotes(_ file: SourceFile) -> [(rule: String, place: String)] {
    file.lines.indices.flatMap { index in quotes(file.lines[index]).map { ($0, "\(file.path):\(index + 1): \($0)") } }
  }
}

@Suite("Documents") struct DocumentTests {
  private static let rules = SourceTree.files.first { $0.path == "docs/rules.md" }
  private static let documents = SourceTree.files.filter { $0.path.hasSuffix(".md") }

  @Test("docs/rules.md numbers the rules of each family without a gap, each once")
  func rules() throws {
    let defined = RuleQuotes.defined(try #require(Self.rules))
    var counts: [Character: Int] = [:]
    for rule in defined {
      let letter = rule[rule.startIndex]
      // The error codes begin with 0.
      let next = (counts[letter] ?? (letter == "E" ? -1 : 0)) + 1
      #expect(rule == "\(letter)\(next)")
      counts[letter] = next
    }
    #expect(counts == ["S": 9, "A": 9, "D": 13, "T": 14, "E": 10, "M": 8, "B": 8, "I": 8])
  }

  @Test("Every rule that code, tests or documents quote is in docs/rules.md")
  func quotes() throws {
    let defined = Set(RuleQuotes.defined(try #require(Self.rules)))
    let files = SourceTree.files.filter { !$0.path.hasPrefix("Tests/Fuzz/Corpus/") }
    let quotes = files.flatMap { RuleQuotes.quotes($0) }
    let unknown = quotes.filter { !defined.contains($0.rule) }.map(\.place)
    #expect(unknown.isEmpty, "\(unknown.joined(separator: "\n"))")
    #expect(quotes.count > 1_000)
  }

  @Test("A quote of a rule that there is not is found; what only looks like one is none")
  func offender() {
    let rule = "B" + "9"
    let offender = SourceFile(path: "docs/a.md", text: "free\nsee I7a and (\(rule))")
    #expect(RuleQuotes.quotes(offender).map(\.place) == ["docs/a.md:2: I7", "docs/a.md:2: \(rule)"])
    for text in ["%C3%A4", "\"T00:00:00Z\"", "\\u{A0}", "018f-A7-1", "SHA1", "D100", "S3Bucket"] {
      #expect(RuleQuotes.quotes(text).isEmpty, "\(text)")
    }
  }

  @Test("README has at most 120 lines")
  func readme() throws {
    let readme = try #require(Self.documents.first { $0.path == "README.md" })
    #expect(readme.lines.count <= 121, "with the empty one behind the last line end")
  }

  @Test("Every file that a document links to, or names below docs or examples, exists")
  func links() {
    var found = 0
    for document in Self.documents {
      let folder = document.path.split(separator: "/").dropLast().joined(separator: "/")
      for line in document.lines {
        let linked = line.matches(of: /\]\(([^)#:]+)(?:#[^)]*)?\)/).map { String($0.output.1) }
        let named = line.matches(of: /`((?:docs|examples)\/[A-Za-z0-9_.\/-]+)`/).map { String($0.output.1) }
        for path in linked.map({ folder.isEmpty ? $0 : "\(folder)/\($0)" }) + named {
          found += 1
          #expect(SourceTree.exists(path), "\(document.path) names \(path)")
        }
      }
    }
    #expect(found > 10)
  }
}

@Suite struct ClientLibraryTests {
  @Test("The example of a first screen is the text that a test compiles")
  func example() throws {
    let source = try #require(SourceTree.text("Tests/Unit/AdClientAppTests/HomeScreen.swift"))
    let begin = try #require(source.firstRange(of: "// begin\n"))
    let end = try #require(source.firstRange(of: "// end\n"))
    let guide = try #require(SourceTree.text("docs/getting-started.md"))
    #expect(guide.contains("```swift\n\(source[begin.upperBound..<end.lowerBound])```"))
  }

  @Test("What an app links has no C library but SQLite")
  func libraries() {
    let targets = Dictionary(Manifest.own.targets.map { ($0.name, $0) }) { first, _ in first }
    func all(_ name: String) -> Set<String> {
      (targets[name]?.dependencies ?? []).reduce(into: [name]) { $0.formUnion(all($1)) }
    }
    let libraries = { (name: String) in all(name).filter { targets[$0]?.path.hasPrefix("Shared/C/") == true } }
    #expect(libraries("AdClient") == ["CSQLite"])
    #expect(libraries("AdClientKafka") == ["CSQLite", "CLibrdkafka"])
  }

  @Test(
    "Every name of iAd's that an app may know has its counterpart",
    arguments: [
      "bannerViewWillLoadAd", "bannerViewDidLoadAd", "bannerView:didFailToReceiveAdWithError",
      "bannerViewActionShouldBegin:willLeaveApplication", "bannerViewActionDidFinish", "interstitialAdWillLoad",
      "interstitialAdDidLoad", "interstitialAdDidUnload", "interstitialAd:didFailWithError",
      "interstitialAdActionShouldBegin:willLeaveApplication", "interstitialAdActionDidFinish",
      "currentContentSizeIdentifier", "requiredContentSizeIdentifiers", "sizeFromBannerContentSizeIdentifier",
      "bannerLoaded", "bannerViewActionInProgress", "cancelBannerViewAction", "loaded", "presentFromViewController",
      "presentInView", "actionInProgress", "cancelAction",
    ])
  func migration(name: String) throws {
    let document = try #require(SourceTree.text("docs/migration-from-iad.md"))
    let row = document.split(separator: "\n").first { $0.hasPrefix("| `\(name)") }
    let counterpart = try #require(row?.split(separator: "|").last)
    let declared = counterpart.matches(of: /`(\w+)[(.`]/).map { String($0.output.1) }
    let files = SourceTree.swiftFiles.filter { $0.path.hasPrefix("Shared/AdClient/API/") }
    let sources = files.compactMap { SourceTree.text($0.path) }
    #expect(
      declared.contains { name in sources.contains { $0.contains("public") && $0.contains(name) } }
        || counterpart.contains("AdSize.resolve"))
  }
}
