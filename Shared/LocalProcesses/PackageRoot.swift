internal import Foundation

/// Where the package's files lie.
package enum PackageRoot {
  /// The nearest folder with a Package.swift, from the current folder upwards, else where this file was compiled.
  package static let path: String = {
    let start = URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
    let compiled = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    return nearest(to: start) ?? nearest(to: compiled) ?? start.path
  }()

  /// The path of a file of the package.
  package static func path(_ relative: String) -> String { "\(path)/\(relative)" }

  private static func nearest(to start: URL) -> String? {
    var folder = start.standardizedFileURL
    while true {
      if FileManager.default.fileExists(atPath: folder.path + "/Package.swift") { return folder.path }
      if folder.path == "/" { return nil }
      folder.deleteLastPathComponent()
    }
  }
}
