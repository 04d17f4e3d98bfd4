internal import Crypto
internal import Foundation
internal import Runtime

/// The folder of a network of this machine: made once, used again by later runs, one run at a time.
final class DemoFolder: Sendable {
  let path: String
  private let lock: Int32
  /// What `git` is told to leave out.
  private static let ignored = "*\n"

  /// Makes the folder, or takes the one that is there.
  ///
  /// - Throws: `DemoFailure` when it cannot be made, or another run uses it.
  init(_ path: String) throws {
    self.path = path
    do {
      try FileManager.default.createDirectory(atPath: "\(path)/logs", withIntermediateDirectories: true)
      try Self.ignored.write(toFile: "\(path)/.gitignore", atomically: true, encoding: .utf8)
    } catch {
      throw DemoFailure("the folder \(path) cannot be made: \(error.localizedDescription)")
    }
    lock = open("\(path)/lock", O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    guard lock >= 0 else { throw DemoFailure("the folder \(path) cannot be written") }
    guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
      close(lock)
      throw DemoFailure("the folder \(path) is used by another run: end that one, or name another folder")
    }
  }

  deinit { close(lock) }

  func file(_ name: String) -> String { "\(path)/\(name)" }

  /// The file with the keys of the serve tokens, readable by its owner only; made at the first run.
  func tokenKeysFile() throws -> String {
    let path = file("token-keys")
    if !FileManager.default.fileExists(atPath: path) {
      try write("1:\(Base64.encode(SecureRandom.bytes(count: 32)))\n", to: path)
    }
    return path
  }

  /// Writes a file that only its owner can read, whole or not at all.
  func write(_ text: String, to path: String) throws {
    let unfinished = path + ".unfinished"
    unlink(unfinished)
    let descriptor = open(unfinished, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw DemoFailure("\(path) cannot be written") }
    let isWritten = Terminal.write(text, to: descriptor)
    close(descriptor)
    guard isWritten, rename(unfinished, path) == 0 else { throw DemoFailure("\(path) cannot be written") }
  }

  /// Which broker the last run used, and remembers this one.
  ///
  /// - Returns: whether it is another, so that the stored positions belong to other logs.
  func isBrokerNew(_ description: String) throws -> Bool {
    let last = text(of: "broker")
    try write(description, to: file("broker"))
    return last != description
  }

  /// Whether a network of this folder has its records on that server, which is not of the folder.
  func hasUsed(_ server: String) -> Bool { usedServers.contains(server) }

  /// Remembers that it has from now on.
  func noteUse(of server: String) throws {
    guard !hasUsed(server) else { return }
    try write((usedServers + [server]).map { $0 + "\n" }.joined(), to: file("servers"))
  }

  private var usedServers: [String] { text(of: "servers")?.split(separator: "\n").map(String.init) ?? [] }

  private func text(of name: String) -> String? {
    FileManager.default.contents(atPath: file(name)).map { String(decoding: $0, as: UTF8.self) }
  }
}

/// Why the demo cannot go on, in a sentence.
struct DemoFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
