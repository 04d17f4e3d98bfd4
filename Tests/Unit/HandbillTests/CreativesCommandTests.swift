import Foundation
import Pictures
import Runtime
import Testing

@testable import Handbill

@Suite("handbill creatives add")
struct CreativesCommandTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "creatives-\(UUID())")

  /// The exit code, with what lies in the edge's folder afterwards.
  private func add(_ files: [String: [UInt8]], to shelf: String = "shelf") async throws -> (Int32, [String]) {
    try FileManager.default.createDirectory(at: folder.appending(path: "shelf"), withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    for (name, bytes) in files { try Data(bytes).write(to: folder.appending(path: name)) }
    let paths = files.keys.sorted().map { folder.appending(path: $0).path }
    let code = await CommandLineProgram.run(
      CreativesCommand.command, arguments: ["add", "--folder", folder.appending(path: shelf).path] + paths)
    return (code.rawValue, try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "shelf").path))
  }

  @Test("An image lies in the folder under its SHA-256, as the edge looks for it")
  func added() async throws {
    let (name, bytes) = try #require(SamplePicture.named().first)
    let (code, files) = try await add(["banner.png": bytes])
    #expect(code == 0 && files == [name])
  }

  @Test("What is no image, or is larger than it may be, is refused, and nothing of the same call is copied")
  func refused() async throws {
    let (_, picture) = try #require(SamplePicture.named().first)
    for wrong in [Array("no image".utf8), picture + [UInt8](repeating: 0, count: 2_097_152), []] {
      let (code, files) = try await add(["a.png": picture, "b.png": wrong])
      #expect(code == 64 && files.isEmpty)
    }
  }

  @Test("A folder that is not there is not made: the edge would not know it")
  func noFolder() async throws {
    let (_, bytes) = try #require(SamplePicture.named().first)
    let (code, files) = try await add(["banner.png": bytes], to: "elsewhere")
    #expect(code == 64 && files.isEmpty)
  }
}
