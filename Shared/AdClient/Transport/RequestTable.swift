package import AdBasics

/// The requests that wait for their answers: whom each is for, when it is asked again, when it is given up.
package struct RequestTable<Element> {
  /// What is due: ask again with the time that is left, or give up.
  package enum Due {
    case askAgain(id: UUIDv7, element: Element, remainingMilliseconds: Int64)
    case givenUp(Element)
  }

  private struct Pending {
    let element: Element
    let deadline: MonotonicTime
    let serial: UInt64
  }

  private struct Turn {
    let at: MonotonicTime
    let id: UUIDv7
    let serial: UInt64
  }

  /// The most requests that wait at once.
  package let requestsMaximum: Int
  /// A request without an answer is asked again, once, after this time.
  package let askAgainMilliseconds: Int64
  /// The whole time that a request waits.
  package let deadlineMilliseconds: Int64

  private var pending: [UUIDv7: Pending] = [:]
  // The waits are the same for all requests, so turns come in the order of their making.
  private var askAgain = FirstInFirstOut<Turn>()
  private var giveUp = FirstInFirstOut<Turn>()
  private var serial: UInt64 = 0

  package init(requestsMaximum: Int, askAgainMilliseconds: Int64, deadlineMilliseconds: Int64) {
    self.requestsMaximum = requestsMaximum
    self.askAgainMilliseconds = askAgainMilliseconds
    self.deadlineMilliseconds = deadlineMilliseconds
  }

  package var count: Int { pending.count }

  /// Takes a request; false when too many wait or its id is taken.
  package mutating func add(_ element: Element, id: UUIDv7, at now: MonotonicTime) -> Bool {
    guard pending.count < requestsMaximum, pending[id] == nil else { return false }
    serial += 1
    let deadline = now.advanced(byMilliseconds: deadlineMilliseconds)
    pending[id] = Pending(element: element, deadline: deadline, serial: serial)
    if askAgainMilliseconds < deadlineMilliseconds {
      askAgain.append(Turn(at: now.advanced(byMilliseconds: askAgainMilliseconds), id: id, serial: serial))
    }
    giveUp.append(Turn(at: deadline, id: id, serial: serial))
    return true
  }

  /// True while the request of this id waits: what else lies in the topic is for others.
  package func isPending(_ id: UUIDv7) -> Bool { pending[id] != nil }

  /// The request of this id while it waits.
  package func waiting(_ id: UUIDv7) -> Element? { pending[id]?.element }

  /// An answer came: whose it is; nil for one that nobody waits for (any more).
  package mutating func answered(_ id: UUIDv7) -> Element? { pending.removeValue(forKey: id)?.element }

  /// When `due(at:)` has something; nil when nothing waits. It may be early: turns of answered requests stay.
  package var nextWake: MonotonicTime? {
    [askAgain.first?.at, giveUp.first?.at].compactMap { $0 }.min()
  }

  /// What is due by `now`.
  package mutating func due(at now: MonotonicTime) -> [Due] {
    var due: [Due] = []
    while let turn = askAgain.first, turn.at <= now {
      askAgain.removeFirst()
      guard let request = pending[turn.id], request.serial == turn.serial, now < request.deadline else { continue }
      due.append(
        .askAgain(
          id: turn.id, element: request.element, remainingMilliseconds: request.deadline.milliseconds(since: now)))
    }
    while let turn = giveUp.first, turn.at <= now {
      giveUp.removeFirst()
      guard pending[turn.id]?.serial == turn.serial, let element = answered(turn.id) else { continue }
      due.append(.givenUp(element))
    }
    return due
  }

  /// Gives up everything, at the end.
  package mutating func removeAll() -> [Element] {
    defer { pending.removeAll() }
    return pending.values.map(\.element)
  }
}
