internal import AdCore

/// A partition's allotments that have not ended, and which of them pays an event.
package struct OpenAllotments: Sendable {
  private struct End: Hashable, Comparable, Sendable {
    var serveUntil: Timestamp
    var id: UInt64

    static func < (left: End, right: End) -> Bool {
      left.serveUntil != right.serveUntil ? left.serveUntil < right.serveUntil : left.id < right.id
    }
  }

  private var byID: [UInt64: OpenAllotment] = [:]
  /// Those with room for clicks, by budget, the soonest to end first.
  private var withClickRoom: [BudgetKey: [End]] = [:]

  init(_ allotments: [OpenAllotment]) {
    for allotment in allotments where byID[allotment.id] == nil { insert(allotment) }
  }

  package subscript(id: UInt64) -> OpenAllotment? { byID[id] }

  mutating func insert(_ allotment: OpenAllotment) {
    byID[allotment.id] = allotment
    noteClickRoom(of: allotment, before: 0)
  }

  mutating func close(_ id: UInt64, used: Nanos, forClicks: Nanos) {
    change(id) { $0.close(used: used, forClicks: forClicks) }
  }

  mutating func remove(_ id: UInt64) {
    change(id) { $0.clickReserve = $0.clicksCharged }
    byID[id] = nil
  }

  /// Those that serve no later than `limit`, in the order of their ids.
  func served(before limit: Timestamp) -> [OpenAllotment] {
    byID.values.filter { $0.serveUntil < limit }.sorted { $0.id < $1.id }
  }

  func hasServed(before limit: Timestamp) -> Bool { byID.values.contains { $0.serveUntil < limit } }

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

  /// Keeps ``withClickRoom`` as it must be; entries are found by bisection.
  private mutating func noteClickRoom(of allotment: OpenAllotment, before: Int64) {
    let hasRoom = allotment.clickRoom > 0
    guard hasRoom != (before > 0) else { return }
    let end = End(serveUntil: allotment.serveUntil, id: allotment.id)
    var ends = withClickRoom.removeValue(forKey: allotment.budget) ?? []
    var (low, high) = (0, ends.count)
    while low < high {
      let middle = (low + high) / 2
      if ends[middle] < end { low = middle + 1 } else { high = middle }
    }
    if hasRoom { ends.insert(end, at: low) } else { ends.remove(at: low) }
    if !ends.isEmpty { withClickRoom[allotment.budget] = ends }
  }
}
