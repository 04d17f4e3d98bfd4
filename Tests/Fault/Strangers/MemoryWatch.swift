import Foundation
import Runtime
import Synchronization

/// What the services hold in memory, looked at every second.
final class MemoryWatch: Sendable {
  private let samples = Mutex<[String: [Int]]>([:])
  private let isStopping = Mutex(false)
  private let thread = Mutex<OwnerThread?>(nil)
  private static let pageBytes = 4_096

  init(_ network: FaultNetwork) {
    let thread = OwnerThread("memory") { [self] in
      while !isStopping.withLock({ $0 }) {
        for instance in network.deciders {
          guard let bytes = Self.residentBytes(instance.processIdentifier) else { continue }
          samples.withLock { $0[instance.service, default: []].append(bytes) }
        }
        poll(nil, 0, 1_000)
      }
    }
    self.thread.withLock { $0 = thread }
  }

  /// Ends it and returns, of each service, the most of each quarter of the time, in bytes.
  func stop() -> [(service: String, quarters: [Int])] {
    isStopping.withLock { $0 = true }
    thread.withLock { $0 }?.join()
    return samples.withLock { $0 }.sorted { $0.key < $1.key }.map { service, samples in
      let quarters = (0..<4).map { quarter in
        samples[samples.count * quarter / 4..<samples.count * (quarter + 1) / 4].max() ?? 0
      }
      return (service, quarters)
    }
  }

  private static func residentBytes(_ process: Int32) -> Int? {
    let text = try? String(contentsOfFile: "/proc/\(process)/statm", encoding: .ascii)
    return text?.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * pageBytes }
  }
}
