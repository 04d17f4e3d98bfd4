import Testing

@testable import SchemaEmbedder

@Suite("The schema's table, made at each build")
struct SchemaEmbedderTests {
  private func schema(_ body: String) throws -> Schema {
    var schema = Schema()
    try schema.add("// What it is.\nsyntax = \"proto3\";\npackage p.v1;\n" + body, file: "file.proto")
    return schema
  }

  @Test("Fields come in the order of their numbers, with the names of protobuf and of JSON")
  func fields() throws {
    let code = try schema(
      """
      message M {
        // Text; its unit.
        repeated string under_17_ids = 2;  // behind
        oneof one { bool flag = 3; fixed64 hash = 4; }
        oneof two { bytes raw = 5; }
        reserved 7, 9;
        sint64 first = 1;
      }
      """
    ).swiftCode()
    let fields = code.split(separator: "\n").filter { $0.contains("MessageShape.Field(") }.map { $0.drop { $0 == " " } }
    func line(_ number: Int, _ names: (String, String), _ kind: String, _ isRepeated: Bool, _ oneof: String) -> String {
      "MessageShape.Field(number: \(number), name: \"\(names.0)\", jsonName: \"\(names.1)\", kind: .\(kind), "
        + "isRepeated: \(isRepeated), oneof: \(oneof)),"
    }
    #expect(
      fields.map(String.init) == [
        line(1, ("first", "first"), "sint64", false, "nil"),
        line(2, ("under_17_ids", "under17Ids"), "string", true, "nil"),
        line(3, ("flag", "flag"), "bool", false, "0"), line(4, ("hash", "hash"), "fixed64", false, "0"),
        line(5, ("raw", "raw"), "bytes", false, "1"),
      ])
    #expect(code.contains("\"p.v1.M\": MessageShape(fields: Embedded.p_v1_M),"))
  }

  @Test("A name means the innermost declaration")
  func scopes() throws {
    let schema = try schema(
      """
      enum Kind { NONE = 0; }
      message A { Kind kind = 1; Inner inner = 2; p.v1.Kind outer = 3; message Inner { Kind kind = 1; } \
      enum Kind { ZERO = 0; MINUS = -1; } }
      message B { Kind kind = 1; A.Inner inner = 2; }
      """)
    #expect(schema.resolve("Kind", within: "p.v1.A") == "p.v1.A.Kind")
    #expect(schema.resolve("Kind", within: "p.v1.A.Inner") == "p.v1.A.Kind")
    #expect(schema.resolve("Kind", within: "p.v1.B") == "p.v1.Kind")
    #expect(schema.resolve("A.Inner", within: "p.v1.B") == "p.v1.A.Inner")
    #expect(schema.resolve("p.v1.Kind", within: "p.v1.A") == "p.v1.Kind")
    #expect(schema.resolve("Inner", within: "p.v1.B") == nil)
    #expect(schema.enums["p.v1.A.Kind"]?.map(\.number) == [0, -1])
  }

  @Test(
    "What is not understood stops the build at its line",
    arguments: [
      ("message M { optional int32 a = 1; }", 4), ("message M { map<string, string> a = 1; }", 4),
      ("message M {\n double a = 1; }", 5), ("message M { Missing a = 1; }", 4),
      ("message M { int32 a = 1;\n int32 b = 1; }", 5), ("message M { int32 a = 1;\n int64 a = 2; }", 5),
      ("message M { int32 a = 0; }", 4), ("message M { int32 a = 19000; }", 4), ("message M { int32 a = x; }", 4),
      ("message M { int32 a = 1 [deprecated = true]; }", 4), ("message M {", 4), ("message M { int32 a = 1", 4),
      ("enum E { ONE = 1; }", 4), ("message M { }\nenum M { ZERO = 0; }", 5), ("option java_package = \"a\";", 4),
      ("message M { reserved 4", 4), ("import \"a;", 4),
    ] as [(String, Int)])
  func refused(body: String, line: Int) {
    let problem = #expect(throws: SchemaProblem.self) { try schema(body).swiftCode() }
    #expect(problem?.place.line == line, "\(problem.map { "\($0)" } ?? "")")
  }

  @Test("Files of one schema are read together, and a name stands in one of them")
  func files() throws {
    var schema = try schema("message A { B b = 1; }")
    #expect(throws: SchemaProblem.self) { try schema.swiftCode() }
    try schema.add("syntax = \"proto3\"; package p.v1; message B { }", file: "other.proto")
    #expect(try schema.swiftCode().contains(".message(\"p.v1.B\")"))
    #expect(throws: SchemaProblem.self) {
      try schema.add("syntax = \"proto3\"; package p.v1; message B { }", file: "third.proto")
    }
    #expect(throws: SchemaProblem.self) { try schema.add("syntax = \"proto2\";", file: "old.proto") }
  }
}
