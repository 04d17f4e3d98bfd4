import Foundation
import LocalProcesses
import Testing

/// The SDK as somebody has it who reads nothing but the README.
@Suite struct SDKTests {
  /// The code of a document between a line that names a file and the end of its block.
  private static func code(_ file: String, of document: String = "README.md") throws -> String {
    let text = try String(contentsOfFile: PackageRoot.path(document), encoding: .utf8)
    let start = try #require(text.range(of: "`\(file)`:\n\n```swift\n"), "\(document) has no \(file)")
    let end = try #require(text.range(of: "\n```", range: start.upperBound..<text.endIndex))
    return String(text[start.upperBound..<end.lowerBound]) + "\n"
  }

  @Test("The smallest app of the README and the guide, a package in an empty folder, compiles and shows an ad")
  func smallestApp() async throws {
    for file in ["Package.swift", "main.swift"] {
      #expect(try Self.code(file) == Self.code(file, of: "docs/getting-started.md"))
    }
    let said = try await onOwnThread {
      let folder = try TemporaryFolder(prefix: "hbapp")
      let sources = folder.path + "/Sources/FirstAd"
      try FileManager.default.createDirectory(atPath: sources, withIntermediateDirectories: true)
      // The network's package lies here, not where the reader has it.
      let manifest = try Self.code("Package.swift").replacing(
        "path: \"../handbill\"", with: "path: \"\(PackageRoot.path(""))\"")
      try manifest.write(toFile: folder.path + "/Package.swift", atomically: true, encoding: .utf8)
      try Self.code("main.swift").write(toFile: sources + "/main.swift", atomically: true, encoding: .utf8)
      let run = try ChildProcess(
        .init(
          // Without what only editors and debuggers read: half as long to compile.
          "/usr/bin/env",
          ["swift", "run", "--package-path", folder.path, "--disable-sandbox", "--disable-index-store"]
            + ["-gnone", "-whole-module-optimization", "-num-threads", "2"].flatMap { ["-Xswiftc", $0] } + ["FirstAd"],
          environment: ["XDG_DATA_HOME": folder.path + "/data"]))
      let status = run.waitForExit(timeoutMilliseconds: 900_000)
      let said = run.lastLines.joined(separator: "\n")
      guard case .exited(0)? = status else { return "\(String(describing: status)): \(said)" }
      return said
    }
    #expect(said.contains("test-ad in 320 x 50: data:image"), "\(said)")
  }

  @Test(
    "The sample programs end with their input, where that is no terminal",
    arguments: ["ExampleGame", "ExampleMagazine"])
  func sampleEnds(name: String) async throws {
    let status = try await onOwnThread {
      let folder = try TemporaryFolder(prefix: "hbapp")
      let run = try ChildProcess(.init(Programs.own.path(name), [], environment: ["XDG_DATA_HOME": folder.path]))
      defer { run.terminate(graceMilliseconds: 1_000) }
      return run.waitForExit(timeoutMilliseconds: 30_000)
    }
    #expect(status == .exited(0))
  }

  @Test("The SDK's documentation is built without a warning")
  func documentation() async throws {
    let output = try await onOwnThread {
      let folder = try TemporaryFolder(prefix: "hbdoc")
      let modules = Programs.own.folder + "/Modules"
      let run = try ChildProcess(.init(PackageRoot.path("docs/build"), [modules, folder.path + "/out"]))
      let status = run.waitForExit(timeoutMilliseconds: 120_000)
      guard case .exited(0)? = status else { return run.lastLines.joined(separator: "\n") }
      return FileManager.default.fileExists(atPath: folder.path + "/out/documentation") ? "" : "no page was made"
    }
    #expect(output.isEmpty, "\(output)")
  }
}
