import Foundation

// Usage: MigrationEmbedder OUTPUT FILE…; writes Swift code that holds the text of each file by its name.
let arguments = CommandLine.arguments.dropFirst()
guard let output = arguments.first else {
  FileHandle.standardError.write(Data("usage: MigrationEmbedder OUTPUT FILE…\n".utf8))
  exit(2)
}
var code = "let embeddedMigrations: [(file: String, sql: String)] = [\n"
for path in arguments.dropFirst() {
  let text = try String(contentsOfFile: path, encoding: .utf8)
  // A raw string ends at a quote with as many number signs as it began with: take more than the text has.
  var signs = "#"
  while text.contains("\"" + signs) || text.contains("\\" + signs) { signs += "#" }
  let name = URL(fileURLWithPath: path).lastPathComponent
  code += "  (\n    file: \"\(name)\",\n    sql: \(signs)\"\"\"\n\(text)\n\"\"\"\(signs)\n  ),\n"
}
code += "]\n"
try code.write(toFile: output, atomically: true, encoding: .utf8)
