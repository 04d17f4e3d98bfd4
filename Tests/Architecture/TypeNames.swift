/// One name, one type: whoever searches for a name in the product finds one thing.
enum TypeNames {
  private static let kinds: Set = ["struct", "class", "enum", "protocol", "actor", "typealias"]
  private static let modifiers: Set = ["public", "package", "internal", "final", "indirect"]

  /// The types that a product's file declares for its whole module or more, outside of other types.
  static func declared(in file: SourceFile) -> [String] {
    guard file.path.hasPrefix("Shared/") || file.path.hasPrefix("Services/") else { return [] }
    return file.codeLines.compactMap { line in
      guard let first = line.first, first.isLetter || first == "@" else { return nil }
      let words = line.split(separator: " ").drop { modifiers.contains(String($0)) || $0.hasPrefix("@") }
      guard let kind = words.first, kinds.contains(String(kind)), let name = words.dropFirst().first else { return nil }
      return String(name.prefix { $0.isLetter || $0.isNumber || $0 == "_" })
    }
  }

  /// The names that several files declare, with these files.
  static func doubles(in files: [SourceFile]) -> [String] {
    let pairs = files.flatMap { file in declared(in: file).map { (name: $0, path: file.path) } }
    return Dictionary(grouping: pairs, by: \.name).filter { $0.value.count > 1 }
      .map { "\($0.key): \($0.value.map(\.path).sorted().joined(separator: ", "))" }.sorted()
  }
}
