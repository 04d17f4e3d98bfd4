internal import Synchronization
internal import Threads

/// A producer that is made again whenever it fails.
///
/// A producer that failed to deliver one record delivers none after it, and is not asked to: it is thrown away, and
/// another is made on a thread of its own, after a pause whose bound doubles until one has delivered something. Each has
/// a number, its *generation*. Whoever sends names the one that it knows, and sends again to the next what was not
/// reported; so what is delivered is always a prefix of what was sent, and a delivery timeout can leave no gap.
///
/// It must be ended by `close` or `abort`.
package final class RebuiltProducer: Sendable {
  /// What its owner is told, on threads that it must not hold up.
  package struct Listener: Sendable {
    package var reports: @Sendable ([KafkaDeliveryReport]) -> Void = { _ in }
    /// The producer is lost; a record without a report is sent again to the next.
    package var lost: @Sendable (KafkaError) -> Void = { _ in }
    /// The next could not be made yet.
    package var stillDown: @Sendable (KafkaError) -> Void = { _ in }
    /// The next is there.
    package var rebuilt: @Sendable () -> Void = {}

    package init() {}
  }

  /// new → up, by `start`; new → down, by `startLater`; up → down, when it fails; down → up, when the next is made; from
  /// any → closed.
  private enum Phase {
    case new
    case down(KafkaError)
    case up(KafkaProducer)
    case closed
  }

  private struct State {
    var phase = Phase.new
    /// That of the last producer made; the first is 1.
    var generation: UInt64 = 0
    var retry: Retry
  }

  private let configuration: KafkaConfiguration
  private let topics: [String]
  private let warmUpMilliseconds: Int32
  private let isExpendable: @Sendable (UInt64) -> Bool
  private let listener: Listener
  private let state: Mutex<State>
  /// No producer is wanted any more.
  private let closing = StopRequest()

  /// - Parameters:
  ///   - topics: warmed up before the first record; where they are not to be seen there is no producer.
  ///   - warmUpMilliseconds: how long one try waits for them.
  ///   - pauseMilliseconds: the first and the greatest bound of the pause before the next one is made.
  ///   - isExpendable: says for a report's number that nobody relies on that record: see ``KafkaProducer``.
  package init(
    configuration: KafkaConfiguration, topics: [String], pauseMilliseconds: ClosedRange<Int64> = 100...5_000,
    warmUpMilliseconds: Int32 = 10_000, isExpendable: @escaping @Sendable (UInt64) -> Bool = { _ in false },
    listener: Listener = Listener()
  ) {
    self.configuration = configuration
    self.topics = topics
    self.warmUpMilliseconds = warmUpMilliseconds
    self.isExpendable = isExpendable
    self.listener = listener
    state = Mutex(
      State(
        retry: Retry(
          baseMilliseconds: pauseMilliseconds.lowerBound, boundMaximumMilliseconds: pauseMilliseconds.upperBound)))
  }

  /// Makes the first producer, blocking; where there was one already, does nothing.
  ///
  /// - Returns: the generation that there is.
  /// - Throws: when the topics cannot be seen, and while the next is being made.
  @discardableResult
  package func start() throws(KafkaError) -> UInt64 {
    let problem = state.withLock { state -> KafkaError? in
      switch state.phase {
      case .new, .up: nil
      case .down(let error): error
      case .closed: .closed
      }
    }
    if let problem { throw problem }
    if let generation { return generation }
    return try make()
  }

  /// Makes the first producer on a thread of its own, however long it takes.
  package func startLater() {
    state.withLock { $0.phase = .down(KafkaError(.producerFailed, "there is no producer yet")) }
    _ = OwnerThread("kafka-rebuild") { [self] in rebuild() }
  }

  /// Which producer there is; nil while there is none.
  package var generation: UInt64? {
    state.withLock { if case .up = $0.phase { $0.generation } else { nil } }
  }

  /// The producer of that generation, as long as it is the one that there is.
  package func producer(generation: UInt64?) -> KafkaProducer? {
    state.withLock { state in
      if case .up(let producer) = state.phase, state.generation == generation { producer } else { nil }
    }
  }

  /// Throws the producer of that generation away, and has the next one made.
  package func fail(generation: UInt64, _ error: KafkaError) {
    let failed = state.withLock { state -> KafkaProducer? in
      guard case .up(let producer) = state.phase, state.generation == generation else { return nil }
      state.phase = .down(error)
      return producer
    }
    guard let failed else { return }
    listener.lost(error)
    _ = OwnerThread("kafka-rebuild") { [self] in
      failed.abort()
      pause()
      rebuild()
    }
  }

  /// Waits until all records are reported, at most the given time; false when some were not.
  ///
  /// - Parameter waitsForEnd: false where the process ends: then the client ends by itself meanwhile.
  @discardableResult
  package func close(timeoutMilliseconds: Int32, waitsForEnd: Bool = true) -> Bool {
    end()?.close(timeoutMilliseconds: timeoutMilliseconds, waitsForEnd: waitsForEnd) ?? false
  }

  /// Drops what is not yet sent, without waiting.
  package func abort() { end()?.abort() }

  private func end() -> KafkaProducer? {
    let last = state.withLock { state -> KafkaProducer? in
      defer { state.phase = .closed }
      if case .up(let producer) = state.phase { return producer }
      return nil
    }
    closing.make()
    return last
  }

  private func make() throws(KafkaError) -> UInt64 {
    let generation = state.withLock { state in
      state.generation += 1
      return state.generation
    }
    let producer = try KafkaProducer(
      configuration: configuration, topics: topics, timeoutMilliseconds: warmUpMilliseconds,
      failed: { [weak self] in self?.fail(generation: generation, $0) }, isExpendable: isExpendable,
      reports: { [weak self] in self?.take($0) })
    let isWanted = state.withLock { state in
      if case .closed = state.phase { return false }
      state.phase = .up(producer)
      return true
    }
    guard isWanted else {
      producer.abort()
      throw .closed
    }
    // It may have failed before anybody knew it.
    if let failure = producer.failure { fail(generation: generation, failure) }
    return generation
  }

  private func take(_ reports: [KafkaDeliveryReport]) {
    if reports.contains(where: { $0.error == nil }) { state.withLock { $0.retry.reset() } }
    listener.reports(reports)
  }

  private func rebuild() {
    while !closing.isRequested {
      do throws(KafkaError) {
        _ = try make()
        listener.rebuilt()
        return
      } catch {
        guard error.kind != .closed else { return }
        listener.stillDown(error)
        pause()
      }
    }
  }

  private func pause() {
    var random = SystemRandomNumberGenerator()
    let milliseconds = state.withLock { $0.retry.delayMilliseconds(now: 0, using: &random) ?? 0 }
    closing.wait(milliseconds: milliseconds)
  }
}
