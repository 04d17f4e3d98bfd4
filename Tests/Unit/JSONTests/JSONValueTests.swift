import JSON
import Testing

@Suite("JSON values")
struct JSONValueTests {
  @Test("what is read is written the same: members in their order, numbers as they stood")
  func roundTrip() throws {
    let text = #"{"b":[1,-0.5e3,123456789012345678901234567890,true,null],"a":{"c":"\"\\\n\u0007\u200d\ud834\udd73é"}}"#
    let value = try JSONValue.parse(text.utf8)
    #expect(value.compactText == text)
    #expect(JSONValue.text("\u{7F}\u{85}\u{2028}\u{E0001}").compactText == #""\u007f\u0085\u2028\udb40\udc01""#)
    #expect(try JSONValue.parse(value.prettyText.utf8) == value)
    #expect(value.inOrderOfNames.compactText.hasPrefix(#"{"a":{"c":"#))
  }

  @Test("for people: two spaces per level, one member a line")
  func pretty() {
    let value: JSONValue = ["list": [1, []], "none": [:], "text": "x"]
    #expect(value.prettyText == "{\n  \"list\": [\n    1,\n    []\n  ],\n  \"none\": {},\n  \"text\": \"x\"\n}")
  }

  @Test(
    "whole numbers are exact, however they are written",
    arguments: [
      ("9223372036854775807", Int64.max), ("-9223372036854775808", .min), ("1.0", 1), ("2e3", 2_000),
      ("9223372036854775808", nil), ("1.5", nil), ("\"1\"", nil), ("true", nil),
    ] as [(String, Int64?)])
  func integers(_ text: String, _ expected: Int64?) throws {
    #expect(try JSONValue.parse(text.utf8).integerValue == expected)
  }

  @Test(
    "what is wrong is told with its place",
    arguments: [
      ("", "a JSON value is missing", 1, 1), ("{\n \"a\" 1}", "a JSON colon is missing", 2, 6),
      ("{\"a\":1,\n\"a\":2}", "a JSON key stands twice", 2, 4), ("[1]\n\n2", "something follows the JSON value", 3, 1),
      (String(repeating: "[", count: 42), "the JSON nests too deeply", 1, 42),
    ])
  func problems(_ text: String, _ problem: String, _ line: Int, _ column: Int) {
    let error = #expect(throws: JSONError.self) { try JSONValue.parse(text.utf8) }
    #expect(error?.description == "it is no JSON: \(problem), in line \(line), column \(column)")
  }

  @Test("a text of very many combining marks, which takes long to be compared, is no name, nor compared with numbers")
  func combiningMarks() throws {
    let marks = String(decoding: (0..<60_000).flatMap { [0xCC, $0 < 30_000 ? 0x80 : 0x96] as [UInt8] }, as: UTF8.self)
    let error = #expect(throws: JSONError.self) { try JSONValue.parse("{\"\(marks)\":1}".utf8) }
    #expect(error?.problem == "a JSON key is too long for one that is no ASCII")
    #expect(try JSONValue.parse("[\"\(marks)\"]".utf8).elements?.count == 1)
    #expect(ExactInteger.parse(marks) == nil)
    let (longest, tooLong) = (String(repeating: "é", count: 32), String(repeating: "é", count: 33))
    #expect(try JSONValue.parse("{\"\(longest)\":1}".utf8)[longest]?.integerValue == 1)
    #expect(throws: JSONError.self) { try JSONValue.parse("{\"\(tooLong)\":1}".utf8) }
    let name = String(repeating: "a", count: 1_000)
    #expect(try JSONValue.parse("{\"\(name)\":1}".utf8)[name]?.integerValue == 1)
  }

  @Test("half a character, and bytes that are no text, are broken text")
  func brokenText() {
    for bytes in [Array(#""\ud800""#.utf8), [0x22, 0xFF, 0x22]] {
      #expect(#expect(throws: JSONError.self) { try JSONValue.parse(bytes) }?.isBrokenText == true)
    }
  }
}
