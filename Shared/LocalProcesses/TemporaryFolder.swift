internal import Foundation
internal import Glibc
internal import Synchronization

/// A folder with a short path that is removed with everything in it when the last reference goes, or the process ends.
///
/// The path is short because the path of a unix socket may have at most 107 bytes.
package final class TemporaryFolder: Sendable {
  package let path: String

  /// Makes the folder, readable by its owner only, below TMPDIR if that is short, else below /tmp.
  ///
  /// - Throws: `SupervisionError.system` when it cannot be made.
  package init(prefix: String = "handbill") throws {
    let configured = ProcessInfo.processInfo.environment["TMPDIR"] ?? ""
    let parent = configured.hasPrefix("/") && configured.utf8.count <= 40 ? configured : "/tmp"
    var template = Array("\(parent)/\(prefix)-XXXXXX".utf8CString)
    guard unsafe mkdtemp(&template) != nil else {
      throw SupervisionError.system(operation: "making a folder in \(parent)", code: errno)
    }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    Self.removalIsArranged
    _ = Self.remaining.withLock { [path] in $0.insert(path) }
  }

  /// The path of a file or folder in it.
  package func path(_ name: String) -> String { "\(path)/\(name)" }

  /// Removes it now; again does nothing.
  package func remove() {
    try? FileManager.default.removeItem(atPath: path)
    _ = Self.remaining.withLock { $0.remove(path) }
  }

  deinit { remove() }

  /// Folders that were made and not removed yet.
  private static let remaining = Mutex<Set<String>>([])

  /// Arranged with the first folder, so that it comes after the end of every server that uses one.
  private static let removalIsArranged: Void = atExit {
    for path in remaining.withLock({ $0 }) { try? FileManager.default.removeItem(atPath: path) }
  }
}
