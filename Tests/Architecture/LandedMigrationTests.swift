import Foundation
import Hashes
import Testing

/// Databases hold what they were given: a step that has landed stays as it is, to the letter.
@Suite("Migrations that have landed")
struct LandedMigrationTests {
  private static let folder = "Shared/Migrations/Tables"

  /// The sums by file name, as `sha256sum *.sql` writes them.
  private static func listed() throws -> [String: String] {
    let text = try #require(SourceTree.text("\(folder)/SHA256SUMS"))
    let lines = text.split(separator: "\n").map { $0.split(separator: " ") }
    return Dictionary(uniqueKeysWithValues: lines.map { (String($0[1]), String($0[0])) })
  }

  /// The sums by file name, as the files are.
  private static func actual() throws -> [String: String] {
    let names = try FileManager.default.contentsOfDirectory(atPath: "\(SourceTree.root)/\(folder)")
      .filter { $0.hasSuffix(".sql") }
    return Dictionary(
      uniqueKeysWithValues: try names.map { name in
        let text = try #require(SourceTree.text("\(folder)/\(name)"))
        return (name, Hexadecimal.text(SoftwareSHA256.hash(text.utf8)))
      })
  }

  @Test("Each has the sum that SHA256SUMS says; a new one is added there: sha256sum *.sql > SHA256SUMS")
  func sums() throws {
    let (listed, actual) = (try Self.listed(), try Self.actual())
    #expect(actual.count > 40)
    let edited = listed.keys.filter { listed[$0] != actual[$0] }.sorted()
    #expect(edited.isEmpty, "edited or gone: make a new step instead")
    #expect(actual.keys.filter { listed[$0] == nil }.isEmpty, "not listed")
  }
}
