import Foundation
import HTTP
import Runtime
import Synchronization
import Threads

/// What the services hold in memory, looked at every second.
///
/// What is resident tells little of what stays: the services keep the memory of their largest batch for the next ones.
/// What is in use between batches tells it: its least in a quarter of the time is what does not go away.
final class MemoryWatch: Sendable {
  /// Of one service, by quarters of the time, in bytes.
  struct Memory: Sendable {
    let service: String
    /// The most that was resident.
    let resident: [Int]
    /// The least that was in use.
    let used: [Int]

    var text: String {
      "\(service): KiB in use, the least of each quarter: \(used.map { $0 >> 10 }); MiB resident, the most of each: "
        + "\(resident.map { $0 >> 20 })"
    }
  }

  private struct Sample: Sendable {
    let resident: Int
    let used: Int
  }

  private let samples = Mutex<[String: [Sample]]>([:])
  private let stopping = StopRequest()
  private let thread = Mutex<OwnerThread?>(nil)

  init(_ network: FaultNetwork) {
    let thread = OwnerThread("memory") { [self] in
      repeat {
        for instance in network.deciders {
          guard let sample = Self.sample(instance.adminPort) else { continue }
          samples.withLock { $0[instance.service, default: []].append(sample) }
        }
      } while !stopping.wait(milliseconds: 1_000)
    }
    self.thread.withLock { $0 = thread }
  }

  /// Ends it and returns what there was.
  func stop() -> [Memory] {
    stopping.make()
    thread.withLock { $0 }?.join()
    return samples.withLock { $0 }.sorted { $0.key < $1.key }.map { service, samples in
      let quarters = (0..<4).map { samples[samples.count * $0 / 4..<samples.count * ($0 + 1) / 4] }
      return Memory(
        service: service, resident: quarters.map { $0.map(\.resident).max() ?? 0 },
        used: quarters.map { $0.map(\.used).min() ?? 0 })
    }
  }

  private static func sample(_ port: Int) -> Sample? {
    guard let answer = try? HTTPClient.get("http://127.0.0.1:\(port)/metrics", timeoutMilliseconds: 500) else {
      return nil
    }
    let lines = String(decoding: answer.body, as: UTF8.self).split(separator: "\n")
    func value(_ metric: MetricDeclaration) -> Int? {
      lines.first { $0.hasPrefix(metric.name + " ") }
        .flatMap { Double($0.dropFirst(metric.name.count + 1)) }.map { Int($0) }
    }
    guard let resident = value(ProcessMetrics.residentMemory), let used = value(ProcessMetrics.heap) else { return nil }
    return Sample(resident: resident, used: used)
  }
}
