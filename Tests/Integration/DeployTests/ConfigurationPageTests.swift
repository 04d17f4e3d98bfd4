import Foundation
import LocalProcesses
import Runtime
import Testing

@Suite("The page of all settings")
struct ConfigurationPageTests {
  @Test("docs/configuration.md has every key of every program as it is declared (UPDATE_DOCUMENTS=1 writes them)")
  func page() throws {
    let text = try PackageText.text(ConfigurationPage.path)
    let made = ConfigurationPage.text(text)
    if ProcessInfo.processInfo.environment["UPDATE_DOCUMENTS"] == "1" {
      try made.write(toFile: PackageRoot.path(ConfigurationPage.path), atomically: true, encoding: .utf8)
    }
    #expect(try PackageText.text(ConfigurationPage.path) == made)
    for program in ConfigurationPage.programs {
      for key in program.keys { #expect(made.contains("| `\(key.name)` |"), "\(program.name): \(key.name)") }
    }
  }

  @Test("No service reads a setting that it does not declare: what another has, may be malformed")
  func declared() {
    for (name, keys) in ConfigurationPage.undeclared { #expect(keys.isEmpty, "\(name): \(keys)") }
  }

  @Test("No program reads a variable of ours that the page does not have")
  func everyVariable() throws {
    let text = try PackageText.text(ConfigurationPage.path)
    let names = Set(
      try PackageText.sources().flatMap { $0.matches(of: /"(HANDBILL_[A-Z_]*[A-Z])"/).map(\.output.1) })
    #expect(names.count > 40)
    for name in names {
      // Any key's value may lie in a file.
      let key = name.hasSuffix("_FILE") ? name.dropLast("_FILE".count) : name
      let isThere = text.contains("`\(key)`")
      #expect(isThere, "\(name)")
    }
  }
}
