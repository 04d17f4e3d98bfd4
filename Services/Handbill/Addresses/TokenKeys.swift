internal import AdCore
internal import Foundation
internal import LocalProcesses
internal import Runtime

/// The network's keys, as far as a command is told them.
enum TokenKeys {
  private static let ringKey = NetworkKeys.ring.optional()
  /// What every command reads that tells what is genuine or whose it is.
  static let keys = [ringKey.declaration]
  static let options = keys.map(AddressOptions.option)

  /// The keys; nil where nothing says them.
  ///
  /// - Throws: `ConfigurationProblems` where they are set and wrong.
  static func ring(_ invocation: Invocation) throws(ConfigurationProblems) -> KeyRing? {
    try ConfigurationReader.read(
      commandLine: invocation.values.compactMapValues(\.last), environment: ProcessInfo.processInfo.environment
    ) { reader in
      let ring = reader.value(Self.ringKey)
      return ring ?? nil
    }
  }

  /// The keys, without which a command can do nothing.
  ///
  /// - Parameter why: what it needs them for.
  /// - Throws: `UsageError` where nothing says them, else as ``ring(_:)``.
  static func ring(_ invocation: Invocation, because why: String) throws -> KeyRing {
    guard let ring = try ring(invocation) else {
      throw UsageError("\(ringKey.declaration.name) is not set: \(why)")
    }
    return ring
  }
}
