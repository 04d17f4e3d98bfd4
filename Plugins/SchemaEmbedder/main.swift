import Foundation

// Usage: SchemaEmbedder OUTPUT FILE…; writes Swift code that holds the fields of every message in the files.
let arguments = CommandLine.arguments.dropFirst()
guard let output = arguments.first else {
  FileHandle.standardError.write(Data("usage: SchemaEmbedder OUTPUT FILE…\n".utf8))
  exit(2)
}
do {
  var schema = Schema()
  for path in arguments.dropFirst() {
    try schema.add(try String(contentsOfFile: path, encoding: .utf8), file: path)
  }
  try schema.swiftCode().write(toFile: output, atomically: true, encoding: .utf8)
} catch let problem as SchemaProblem {
  FileHandle.standardError.write(Data("\(problem)\n".utf8))
  exit(1)
}
