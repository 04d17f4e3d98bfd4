import Foundation

// Usage: MigrationEmbedder OUTPUT FILE…; writes Swift code that holds the text of each file by its name: those of each
// folder in an array of their own, such as embeddedTables.
let arguments = CommandLine.arguments.dropFirst()
guard let output = arguments.first else {
  FileHandle.standardError.write(Data("usage: MigrationEmbedder OUTPUT FILE…\n".utf8))
  exit(2)
}
var arrays: [String: String] = [:]
for path in arguments.dropFirst() {
  let text = try String(contentsOfFile: path, encoding: .utf8)
  // A raw string ends at a quote with as many number signs as it began with: take more than the text has.
  var signs = "#"
  while text.contains("\"" + signs) || text.contains("\\" + signs) { signs += "#" }
  let file = URL(fileURLWithPath: path)
  arrays[file.deletingLastPathComponent().lastPathComponent, default: ""] +=
    "  (\n    file: \"\(file.lastPathComponent)\",\n    sql: \(signs)\"\"\"\n\(text)\n\"\"\"\(signs)\n  ),\n"
}
let code = arrays.sorted { $0.key < $1.key }
  .map { "let embedded\($0.key): [(file: String, sql: String)] = [\n\($0.value)]\n" }.joined()
try code.write(toFile: output, atomically: true, encoding: .utf8)
