internal import AdCore

/// A partition's allotments that have not ended, and which of them pays an event.
package struct OpenAllotments: Sendable {
  private var byID: [UInt64: OpenAllotment] = [:]
  /// All of them, the soonest to end first: whether one has ended is asked all the time, and none of the others is looked at.
  private var ends: [End] = []
  /// Those with room for clicks, by budget, the soonest to end first.
  private var withClickRoom: [BudgetKey: [End]] = [:]

  init(_ allotments: [OpenAllotment]) {
    // In their order each goes to the end, however many there are.
    for allotment in allotments.sorted(by: { End($0) < End($1) }) { insert(allotment) }
  }

  package subscript(id: UInt64) -> OpenAllotment? { byID[id] }

  mutating func insert(_ allotment: OpenAllotment) {
    remove(allotment.id)
    byID[allotment.id] = allotment
    let end = End(allotment)
    ends.insert(end, at: ends.index(of: end))
    noteClickRoom(of: allotment, before: 0)
  }

  mutating func close(_ id: UInt64, used: Nanos, forClicks: Nanos) {
    change(id) { $0.close(used: used, forClicks: forClicks) }
  }

  mutating func remove(_ id: UInt64) {
    change(id) { $0.clickReserve = $0.clicksCharged }
    guard let allotment = byID.removeValue(forKey: id) else { return }
    ends.remove(at: ends.index(of: End(allotment)))
  }

  /// Those that served their time before `limit`, in the order of their ids.
  func served(before limit: Timestamp) -> [OpenAllotment] {
    ends.prefix { $0.serveUntil < limit }.compactMap { byID[$0.id] }.sorted { $0.id < $1.id }
  }

  func hasServed(before limit: Timestamp) -> Bool { ends.first.map { $0.serveUntil < limit } ?? false }

  /// Charges an event to the allotment that its terms name, and a click that this one cannot pay to another one of the
  /// same campaign and day: what is set aside for clicks is set aside for all of them. Nil if none can pay it.
  mutating func charge(_ event: AcceptedEvent) -> (id: UInt64, charge: AllotmentCharge)? {
    let budget = BudgetKey(event.terms)
    let own = event.terms.allotment
    if byID[own]?.budget == budget {
      let charge = change(own) { allotment in
        switch event.kind {
        case .impression: allotment.charge(impression: event.terms)
        case .click: allotment.charge(click: event.price)
        }
      }
      if let charge { return (own, charge) }
    }
    guard event.kind == .click, event.price.value > 0,
      let other = withClickRoom[budget]?.first(where: { byID[$0.id]?.clickRoom ?? 0 >= event.price.value })?.id,
      let charge = change(other, { $0.charge(click: event.price) })
    else { return nil }
    return (other, charge)
  }

  @discardableResult
  private mutating func change<Result>(_ id: UInt64, _ body: (inout OpenAllotment) -> Result?) -> Result? {
    guard var allotment = byID[id] else { return nil }
    let before = allotment.clickRoom
    let result = body(&allotment)
    byID[id] = allotment
    noteClickRoom(of: allotment, before: before)
    return result
  }

  /// Keeps ``withClickRoom`` as it must be.
  private mutating func noteClickRoom(of allotment: OpenAllotment, before: Int64) {
    let hasRoom = allotment.clickRoom > 0
    guard hasRoom != (before > 0) else { return }
    let end = End(allotment)
    var ends = withClickRoom.removeValue(forKey: allotment.budget) ?? []
    let index = ends.index(of: end)
    if hasRoom { ends.insert(end, at: index) } else { ends.remove(at: index) }
    if !ends.isEmpty { withClickRoom[allotment.budget] = ends }
  }
}

/// When an allotment serves no longer; all of them have an order.
private struct End: Hashable, Comparable, Sendable {
  var serveUntil: Timestamp
  var id: UInt64

  init(_ allotment: OpenAllotment) {
    serveUntil = allotment.serveUntil
    id = allotment.id
  }

  static func < (left: End, right: End) -> Bool {
    left.serveUntil != right.serveUntil ? left.serveUntil < right.serveUntil : left.id < right.id
  }
}

extension [End] {
  /// Where an end stands among these, which are in their order, or would stand; found by bisection.
  fileprivate func index(of end: End) -> Int {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = (low + high) / 2
      if self[middle] < end { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
