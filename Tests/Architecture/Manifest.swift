import Foundation

/// The targets of Package.swift, as far as the rules of imports need them: read as text, for it is a program.
struct Manifest: Sendable {
  struct Target: Sendable {
    let name: String
    /// The folder of its files; a target within another's folder has the longer path.
    let path: String
    let dependencies: Set<String>
    /// Whether every use of memory that Swift does not watch must be marked.
    var isStrict = false
  }

  let targets: [Target]

  /// This package's own.
  static let own = Manifest(SourceTree.text("Package.swift") ?? "")

  init(_ text: String) {
    let code = text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }.joined(separator: "\n")
    let lists = Dictionary(
      code.matches(of: /let (\w+): \[Target\.Dependency\] =\s*([^=]*?\])/).map {
        (String($0.output.1), Self.quoted($0.output.2))
      }, uniquingKeysWith: { first, _ in first })
    func dependencies(_ text: Substring) -> Set<String> {
      lists.reduce(Self.quoted(text)) { names, list in
        text.contains(list.key) ? names.union(list.value) : names
      }
    }
    let strict = code.firstMatch(of: /let (\w+): \[SwiftSetting\] = \[\.strictMemorySafety\(\)\]/)?.output.1
    let declared = code.matches(of: /\.(?:target|executableTarget|testTarget|systemLibrary)\(/).compactMap { match in
      let arguments = Self.arguments(code[match.range.upperBound...])
      guard let name = arguments.firstMatch(of: /name: "(\w+)"/)?.output.1,
        let path = arguments.firstMatch(of: /path: "([^"]+)"/)?.output.1
      else { return nil as Target? }
      let after = arguments.firstRange(of: "dependencies:").map { arguments[$0.upperBound...] } ?? ""
      let end = after.firstMatch(of: /,\s*\w+:/)?.range.lowerBound ?? after.endIndex
      return Target(
        name: String(name), path: String(path), dependencies: dependencies(after[..<end]),
        isStrict: strict.map { arguments.contains("swiftSettings: \($0)") } ?? false)
    }
    let units = code.matches(of: /unitTest\("/).map { match in
      let arguments = Self.arguments(code[match.range.upperBound...])
      let name = String(arguments.prefix { $0 != "\"" })
      return Target(
        name: name + "Tests", path: "Tests/Unit/\(name)Tests",
        dependencies: dependencies(arguments.dropFirst(name.count + 1)).union([name]))
    }
    targets = declared + units
  }

  /// The target that a file belongs to.
  func target(of path: String) -> Target? {
    targets.filter { path.hasPrefix($0.path + "/") }.max { $0.path.count < $1.path.count }
  }

  /// Modules of ours that a file imports and its target does not declare: it would build by chance, after others only.
  func undeclared(_ file: SourceFile) -> [String] {
    guard file.path != "Package.swift", let target = target(of: file.path) else { return [] }
    let ours = Set(targets.map(\.name))
    return file.imports.filter { ours.contains($0) && !target.dependencies.contains($0) }
      .map { "\(file.path): \(target.name) does not declare that it depends on \($0)" }
  }

  /// Modules in C that a file imports, and memory that it holds by hand, although its target does not have to mark its
  /// uses of memory.
  func unmarkedMemory(_ file: SourceFile) -> [String] {
    guard let target = target(of: file.path), !target.isStrict else { return [] }
    let foreign = Set(targets.filter { "\($0.path)/".contains("/C/") }.map(\.name))
    let held = Self.heldMemory.filter { !file.codeLines(with: $0).isEmpty }
    return file.imports.filter(foreign.contains).map { "\(file.path): \(target.name) imports \($0) and is not strict" }
      + held.map { "\(file.path): \($0) in \(target.name), which is not strict" }
  }

  /// What gives memory that nobody but the program itself takes back.
  private static let heldMemory = [".allocate(", ".deallocate(", "malloc(", "Unmanaged"]

  /// What stands in the text up to the bracket that closes it.
  private static func arguments(_ text: Substring) -> Substring {
    var depth = 1
    let end = text.firstIndex { character in
      if character == "(" { depth += 1 }
      if character == ")" { depth -= 1 }
      return depth == 0
    }
    return text[..<(end ?? text.endIndex)]
  }

  private static func quoted(_ text: Substring) -> Set<String> {
    Set(text.matches(of: /"(\w+)"/).map { String($0.output.1) })
  }
}
