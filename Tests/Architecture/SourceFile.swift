import Foundation
import Glibc

/// A text file of the package, and for Swift its code without comments and texts.
struct SourceFile: Sendable {
  /// Relative to the package's folder.
  let path: String
  let lines: [String]
  /// The lines of a Swift file with comments and the insides of string literals taken out.
  let codeLines: [String]
  /// All lines, and the code lines, as one text each.
  private let (whole, code): ([UInt8], [UInt8])

  init(path: String, text: String) {
    self.path = path
    lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    codeLines = path.hasSuffix(".swift") ? SourceFile.withoutCommentsAndTexts(lines) : lines
    whole = Array(text.utf8)
    code = Array(codeLines.joined(separator: "\n").utf8)
  }

  /// The modules that it imports.
  var imports: [String] {
    codeLines.compactMap { line in
      let words = line.split(separator: " ").map(String.init)
      guard let keyword = words.firstIndex(of: "import"), keyword + 1 < words.count,
        words[..<keyword].allSatisfy({ $0.hasPrefix("@") || accessLevels.contains($0) })
      else { return nil }
      let kinds: Set = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
      let name = kinds.contains(words[keyword + 1]) ? words.dropFirst(keyword + 2).first : words[keyword + 1]
      return name?.split(separator: ".").first.map(String.init)
    }
  }

  /// Numbers, from 1, of the lines whose import does not say at which level it is used.
  var importsWithoutLevel: [Int] {
    codeLines.indices.filter { index in
      let words = codeLines[index].split(separator: " ").map(String.init)
      guard let keyword = words.firstIndex(of: "import") else { return false }
      return words[..<keyword].allSatisfy { $0.hasPrefix("@") }
    }.map { $0 + 1 }
  }

  private var accessLevels: Set<String> { ["public", "package", "internal", "fileprivate", "private"] }

  /// Numbers, from 1, of the code lines that contain a word as a whole.
  func codeLines(with word: String) -> [Int] {
    Self.places(of: word, in: code).filter { start in
      let end = start + word.utf8.count
      let isWordBefore = start > 0 && isWordByte(code[start]) && isWordByte(code[start - 1])
      let isWordAfter = end < code.count && isWordByte(code[end - 1]) && isWordByte(code[end])
      return !isWordBefore && !isWordAfter
    }.map { line(of: $0, in: code) }
  }

  /// Numbers, from 1, of all lines that contain a text, comments too.
  func lines(with text: String) -> [Int] { Self.places(of: text, in: whole).map { line(of: $0, in: whole) } }

  private func line(of place: Int, in text: [UInt8]) -> Int {
    text[..<place].count { $0 == Self.newline } + 1
  }

  private static let newline = UInt8(ascii: "\n")

  /// Where a text begins. By the C library: there are many words to look for, and tests are not optimised.
  private static func places(of word: String, in text: [UInt8]) -> [Int] {
    (text + [0]).withUnsafeBytes { bytes in
      guard let base = bytes.bindMemory(to: CChar.self).baseAddress else { return [] }
      var places: [Int] = []
      var start = base
      while let found = strstr(start, word) {
        places.append(UnsafePointer(found) - base)
        start = UnsafePointer(found) + 1
      }
      return places
    }
  }

  private func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
      true
    default: false
    }
  }

  /// The functions with more lines than allowed, told by swift-format's indentation: a body ends with a bracket below
  /// the first letter of its declaration.
  func functions(longerThan limit: Int) -> [String] {
    codeLines.indices.compactMap { start in
      let line = codeLines[start]
      guard declaresFunction(line) != nil else { return nil }
      let indentation = line.prefix { $0 == " " }
      // Parameters on lines of their own end with the bracket that the body, if there is one, begins behind.
      let signature = line.hasSuffix("(") ? codeLines[start...].first { $0.hasPrefix(indentation + ")") } : line
      let last = codeLines[(start + 1)...].firstIndex { $0.hasPrefix(indentation + "}") }
      guard signature?.hasSuffix("{") == true, let last else { return nil }
      return last - start + 1 > limit ? "\(path):\(start + 1): \(last - start + 1) lines" : nil
    }
  }

  /// The functions with more parameters than allowed, and the initialisers but those of a struct that keep theirs and do
  /// nothing else: a row may be as wide as it is.
  func functions(withMoreParametersThan limit: Int) -> [String] {
    codeLines.indices.compactMap { start in
      guard let isInitialiser = declaresFunction(codeLines[start]) else { return nil }
      let text = codeLines[start...].prefix(30).joined(separator: "\n")
      let (parameters, body) = Self.parameters(text[(text.firstIndex(of: "(") ?? text.startIndex)...])
      guard parameters > limit, !isInitialiser || !isInStruct(start) || !keepsOnly(body) else { return nil }
      return "\(path):\(start + 1): \(parameters) parameters"
    }
  }

  /// Nil if the line begins no function; whether it is an initialiser.
  private func declaresFunction(_ line: String) -> Bool? {
    guard line.contains("(") else { return nil }
    if line.contains("func ") { return false }
    let words = line.prefix { $0 != "(" }.split(separator: " ")
    let isInitialiser = words.last.map { $0 == "init" || $0 == "init?" || $0.hasPrefix("init<") } ?? false
    return isInitialiser && words.dropLast().allSatisfy { accessLevels.contains(String($0)) } ? true : nil
  }

  /// How many parameters the list has that the text begins with, and what follows it.
  private static func parameters(_ text: Substring) -> (count: Int, rest: Substring) {
    var (depth, commas, previous) = (0, 0, Character(" "))
    for (index, character) in zip(text.indices, text) {
      if "([{<".contains(character) { depth += 1 }
      if ")]}".contains(character) || character == ">" && previous != "-" { depth -= 1 }
      if character == ",", depth == 1 { commas += 1 }
      if depth == 0 { return (commas + 1, text[index...].dropFirst()) }
      previous = character
    }
    return (0, "")
  }

  /// Whether what a line declares belongs to a struct of this file, told by indentation.
  private func isInStruct(_ line: Int) -> Bool {
    let depth = codeLines[line].prefix { $0 == " " }.count
    let outer = codeLines[..<line].last { $0.contains { $0 != " " } && $0.prefix { $0 == " " }.count < depth }
    let words = (outer ?? "").split { !($0.isLetter || $0.isNumber) }
    guard words.first == "extension", words.count > 1 else { return words.contains("struct") }
    return !codeLines(with: "struct \(words[1])").isEmpty
  }

  /// Whether a body gives each property a value and does nothing else.
  private func keepsOnly(_ body: Substring) -> Bool {
    let lines = body.split(separator: "\n").drop { !$0.hasSuffix("{") }.dropFirst()
    let indentation = lines.first?.prefix { $0 == " " } ?? ""
    return lines.prefix { $0.hasPrefix(indentation) }
      .allSatisfy { $0.hasPrefix(indentation + " ") || $0.contains(" = ") }
  }

  private static func withoutCommentsAndTexts(_ lines: [String]) -> [String] {
    var isInText = false
    var isInComment = false
    return lines.map { line in
      if isInText {
        if line.contains("\"\"\"") { isInText = false }
        return ""
      }
      if isInComment {
        if line.contains("*/") { isInComment = false }
        return ""
      }
      let code = withoutCommentsAndTexts(line)
      if code.hasSuffix("\"\"\"") { isInText = true }
      if let comment = code.range(of: "/*") {
        isInComment = !code[comment.upperBound...].contains("*/")
        return String(code[..<comment.lowerBound])
      }
      return code
    }
  }

  private static func withoutCommentsAndTexts(_ line: String) -> String {
    let (quote, slash, backslash) = (UInt8(ascii: "\""), UInt8(ascii: "/"), UInt8(ascii: "\\"))
    let bytes = Array(line.utf8)
    guard bytes.contains(where: { $0 == quote || $0 == slash }) else { return line }
    var code: [UInt8] = []
    var isInText = false
    var isEscaped = false
    for (index, byte) in bytes.enumerated() {
      let next = index + 1 < bytes.count ? bytes[index + 1] : 0
      if !isInText && byte == slash && next == slash { break }
      if !isInText && byte == quote && next == quote && bytes.dropFirst(index + 2).first == quote {
        return String(decoding: code, as: UTF8.self) + "\"\"\""
      }
      if byte == quote && !isEscaped {
        isInText.toggle()
        code.append(byte)
      } else if !isInText {
        code.append(byte)
      }
      isEscaped = isInText && byte == backslash && !isEscaped
    }
    return String(decoding: code, as: UTF8.self)
  }
}

/// The package's own files.
enum SourceTree {
  static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

  /// Every text file outside the folders of builds.
  static let files: [SourceFile] = {
    let kinds: Set = ["swift", "md", "sh", "sql", "yaml", "yml", "json", "proto", "c", "h", "py", "modulemap", ""]
    let names = FileManager.default.enumerator(atPath: root)?.compactMap { $0 as? String } ?? []
    return names.sorted().compactMap { path in
      let folders = path.split(separator: "/")
      let isHidden = folders.first.map { $0.hasPrefix(".") && $0 != ".ci" } ?? true
      let isKnown = kinds.contains(URL(fileURLWithPath: path).pathExtension)
      guard !isHidden, isKnown,
        let data = FileManager.default.contents(atPath: "\(root)/\(path)")
      else { return nil }
      return String(data: data, encoding: .utf8).map { SourceFile(path: path, text: $0) }
    }
  }()

  static let swiftFiles = files.filter { $0.path.hasSuffix(".swift") }

  static func text(_ path: String) -> String? {
    files.first { $0.path == path }?.lines.joined(separator: "\n")
  }

  static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: "\(root)/\(path)") }
}
