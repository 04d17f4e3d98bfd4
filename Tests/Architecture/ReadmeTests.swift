import Testing

@Suite struct ReadmeTests {
  /// The two that people read first.
  private static let documents = ["README.md", "CONTRIBUTING.md"]

  /// The texts between backticks of one line.
  private var quoted: [String] {
    let texts = Self.documents.map { SourceTree.text($0) ?? "" }
    return texts.flatMap { $0.split(separator: "\n") }.flatMap { line in
      line.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
        .map { String($0.element) }
    }
  }

  @Test("Every path that README and CONTRIBUTING name exists")
  func paths() {
    let folders = ["Services/", "Shared/", "Tests/", "deploy/", "docs/", ".ci/"]
    let named = quoted.filter { text in folders.contains { text.hasPrefix($0) } && !text.contains("*") }
    #expect(named.count >= 30)
    let missing = named.filter { !SourceTree.exists($0) }
    #expect(missing.isEmpty, "they name what is not there: \(missing)")
  }

  @Test("Every make target that README and CONTRIBUTING name exists and is in the list that make prints")
  func targets() {
    let makefile = (SourceTree.text("Makefile") ?? "").split(separator: "\n")
    let named = Set(quoted.filter { $0.hasPrefix("make ") }.compactMap { $0.split(separator: " ").dropFirst().first })
    #expect(named.contains("test"))
    for target in named {
      #expect(makefile.contains { $0.hasPrefix("\(target):") && $0.contains(" ## ") }, "make \(target) is not there")
    }
  }
}
