internal import AdBasics

/// Writes a run, event by event: whatever varies little stands once, and an event names it by its index.
package struct RunEncoder: Sendable {
  private let first: Int64
  private var partition: Int32 = 0
  package private(set) var count = 0
  private var terms = RunTable<FrozenTerms>()
  private var places = RunTable<RunPlace>()
  private var budgets = RunTable<RunBudget>()
  private var events = WireWriter()

  /// - Parameter first: the sequence of the first event.
  package init(first: Int64) { self.first = first }

  /// Whether one more event could be one too many, or a byte.
  package var isFull: Bool {
    count >= RunLimits.eventsMaximum || byteCount + RunLimits.eventBytesMaximum > RunLimits.bytesMaximum
  }

  private var byteCount: Int {
    terms.writer.output.count + places.writer.output.count + budgets.writer.output.count + events.output.count
  }

  /// The event with the next sequence. All of a run are of one partition.
  package mutating func append(_ event: RunEvent) {
    let served = event.terms
    partition = served.partition
    count += 1
    let termsIndex = terms.index(of: FrozenTerms(served)) { RunFields.write($0, to: &$1) }
    let place = RunPlace(
      placement: served.placement, country: served.country, device: served.device, size: served.size)
    let placeIndex = places.index(of: place) { $0.write(to: &$1) }
    let budget = RunBudget(allotment: served.allotment, day: served.budgetDay)
    let budgetIndex = budgets.index(of: budget) { $0.write(to: &$1) }
    events.message(6) { writer in
      writer.uuid(1, high: served.serveID.high, low: served.serveID.low)
      writer.unsigned(2, termsIndex)
      writer.unsigned(3, placeIndex)
      writer.unsigned(4, budgetIndex)
      writer.zigzag(5, served.issuedAt.milliseconds(since: served.serveID.timestamp))
      writer.zigzag(6, event.eventTime.milliseconds(since: served.issuedAt))
      writer.zigzag(7, event.arrival.milliseconds(since: event.eventTime))
      writer.fixed64(8, served.clientHash)
      writer.fixed64(9, event.idHash)
      writer.unsigned(10, UInt64(event.verdict?.rawValue ?? 0))
    }
  }

  /// The record's value.
  package func encoded() -> [UInt8] {
    var writer = WireWriter()
    writer.output.reserveCapacity(byteCount + 32)
    write(to: &writer)
    return writer.output
  }

  /// The record.
  package func write(to writer: inout WireWriter) {
    var run = WireWriter()
    run.output.reserveCapacity(byteCount + 24)
    run.signed(1, first)
    run.signed(2, Int64(partition))
    run.output += terms.writer.output
    run.output += places.writer.output
    run.output += budgets.writer.output
    run.output += events.output
    writer.presentBytes(1, run.output)
  }
}

/// Where an ad was shown, and on what.
struct RunPlace: Hashable {
  var placement: PlacementID
  var country: Country
  var device: Device
  var size: AdSize

  func write(to writer: inout WireWriter) {
    writer.message(4) { writer in
      writer.text(1, placement)
      writer.text(2, country)
      writer.unsigned(3, UInt64(device.rawValue))
      writer.unsigned(4, UInt64(size.rawValue))
    }
  }
}

/// The piece of budget that an ad was sold from.
struct RunBudget: Hashable {
  var allotment: UInt64
  var day: Int32

  func write(to writer: inout WireWriter) {
    writer.message(5) { writer in
      writer.unsigned(1, allotment)
      writer.zigzag(2, Int64(day))
    }
  }
}

/// Distinct values with their indices, each written when it first comes.
struct RunTable<Value: Hashable & Sendable>: Sendable {
  private var indices: [Value: UInt64] = [:]
  /// That of the event before: most have the same.
  private var last: (value: Value, index: UInt64)?
  private(set) var writer = WireWriter()

  mutating func index(of value: Value, write: (Value, inout WireWriter) -> Void) -> UInt64 {
    if let last, last.value == value { return last.index }
    let next = UInt64(indices.count)
    let index = indices[value] ?? next
    if index == next {
      indices[value] = next
      write(value, &writer)
    }
    last = (value, index)
    return index
  }
}
