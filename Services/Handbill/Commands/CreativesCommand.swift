internal import AdCore
internal import Crypto
internal import Foundation
internal import JSON
internal import Operations
internal import Pictures
internal import Runtime

/// `handbill creatives`: images that the edge serves from a folder.
enum CreativesCommand {
  static let command = Command(
    "creatives", summary: "Puts images where the edge serves them.",
    subcommands: [
      Command(
        "add", summary: "Copies images into the edge's folder, and prints what the catalogue says of them.",
        discussion: """
          A PNG, JPEG, GIF or WebP file of at most \(ImageReference.bytesMaximum) bytes. It lies in the folder under its
          SHA-256: the edge checks that before it serves it, and clients check what they fetch. What is printed goes into
          the member 'images' of an ad.
          """,
        options: [.value("folder", "PATH", help: "The edge's folder (else HANDBILL_EDGE_CREATIVES).")],
        arguments: [CommandArgument("FILE", repeats: true, help: "The images.")],
        examples: [
          CommandExample(
            "handbill creatives add --folder /srv/creatives banner.png", "Prints /v1/creatives/…#sha256=…&bytes=….")
        ], run: add)
    ])

  @Sendable private static func add(_ invocation: Invocation) async throws -> ExitCode {
    let environment = ProcessInfo.processInfo.environment["HANDBILL_EDGE_CREATIVES"]
    guard let folder = invocation.text("folder") ?? environment, !folder.isEmpty else {
      throw UsageError("say by --folder or HANDBILL_EDGE_CREATIVES where the edge has its images")
    }
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
      throw UsageError("there is no folder \(folder): make it, and name it to the edge as HANDBILL_EDGE_CREATIVES")
    }
    // All are read before any is written: a mistake leaves nothing behind.
    let images = try invocation.arguments.map { path in (path: path, image: try image(path)) }
    for (_, image) in images { try write(image, into: folder) }
    if invocation.wantsJSON {
      let members = images.map { JSONValue.Member($0.path, .text($0.image.reference.text)) }
      Terminal.print(JSONValue.object(members).prettyText)
    } else {
      Terminal.print(TextTable.text(images.map { [$0.path, $0.image.reference.text] }))
    }
    return .success
  }

  private struct Image {
    let bytes: [UInt8]
    let reference: ImageReference
  }

  private static func image(_ path: String) throws -> Image {
    guard let handle = FileHandle(forReadingAtPath: path),
      let data = try handle.read(upToCount: ImageReference.bytesMaximum + 1)
    else { throw UsageError("\(path) cannot be read, or is empty") }
    let bytes = [UInt8](data)
    guard let contents = ImageReference.Contents(sha256: SHA256.hash(bytes), byteCount: bytes.count) else {
      throw UsageError("\(path) has more than \(ImageReference.bytesMaximum) bytes")
    }
    guard PictureFormat(of: bytes) != nil else { throw UsageError("\(path) is no PNG, JPEG, GIF or WebP") }
    return Image(bytes: bytes, reference: ImageReference(atEdge: contents))
  }

  /// Whole or not at all: the edge may look at any moment.
  private static func write(_ image: Image, into folder: String) throws {
    let url = URL(filePath: folder).appending(path: image.reference.contents?.name ?? "")
    try Data(image.bytes).write(to: url, options: .atomic)
  }
}
