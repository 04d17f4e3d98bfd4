import Foundation
import Glibc
import LocalProcesses

/// A file system of a few megabytes in memory, which can be filled and made larger.
final class SmallDisk: Sendable {
  let path: String

  /// Why there can be none on this machine; nil where it can.
  static let reasonMissing: String? = {
    guard getuid() == 0 else { return "only root can mount a small file system" }
    do {
      let folder = try TemporaryFolder(prefix: "hbm")
      let disk = try SmallDisk(path: folder.path("disk"), megabytes: 1)
      disk.remove()
      return nil
    } catch {
      return "no file system can be mounted here"
    }
  }()

  init(path: String, megabytes: Int) throws {
    self.path = path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try ChildProcess.run(.init("mount", ["-t", "tmpfs", "-o", "size=\(megabytes)m,mode=711", "handbill", path]))
  }

  private var ballast: String { "\(path)/ballast" }

  /// Leaves not a byte free.
  func fill() throws {
    let file = open(ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw SupervisionError.system(operation: "opening \(ballast)", code: errno) }
    defer { close(file) }
    let piece = [UInt8](repeating: 0x68, count: 65_536)
    for size in [piece.count, 4_096] {
      while write(file, piece, size) > 0 {}
    }
  }

  /// Gives free what `fill` took.
  func free() { unlink(ballast) }

  /// Unmounts it, even while somebody uses it.
  func remove() { _ = try? ChildProcess.run(.init("umount", ["-l", path])) }
}
