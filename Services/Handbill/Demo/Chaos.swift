internal import AdCore
internal import Runtime
internal import Threads

/// Ends services like crashes, by chance that can be had again: their supervisor starts them again, and nothing may be
/// lost or counted twice.
final class Chaos: Sendable {
  private let stopping = StopRequest()
  private let thread: OwnerThread
  private static let intervalMilliseconds: ClosedRange<Int64> = 2_500...5_000

  /// Begins at once.
  init(services: [ServiceProcess], seed: UInt64, tell: @escaping @Sendable (String) -> Void) {
    let stopping = stopping
    thread = OwnerThread("chaos") {
      var chance = SeededChance(seed: seed ^ 0x6368_616F_73)
      while !stopping.wait(milliseconds: Int(chance.milliseconds(Self.intervalMilliseconds))) {
        guard let service = services.randomElement(using: &chance) else { return }
        tell("kill -9 \(service.name)")
        service.kill()
      }
    }
  }

  /// Blocks until nobody is killed any more.
  func stop() {
    stopping.make()
    thread.join()
  }
}
