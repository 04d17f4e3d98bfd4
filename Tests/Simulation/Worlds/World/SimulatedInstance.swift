/// One process of one service, as the scheduler sees it.
protocol SimulatedInstance: AnyObject {
  var serviceName: String { get }
  var isDead: Bool { get }
  var openPartitions: [Int32] { get }
  /// Its share, whether or not it is open.
  var assigned: Set<Int32> { get }
  var context: InstanceContext { get }
  /// A call of it is under way.
  var isAtWork: Bool { get }

  /// The partition is its from now on: it sees it free.
  func give(_ partition: Int32)
  /// The partition is somebody else's now; it may not know yet.
  func take(_ partition: Int32)
  func open(_ partition: Int32)
  /// Opens what it was given once and is somebody else's now, as a process does that stood still in between.
  func openLate(_ partition: Int32)
  func work(_ partition: Int32, recordsMaximum: Int)
  /// A second may be over: what is due is done for every partition.
  func tick()
  /// Looks where the inputs end, or tells what an earlier look saw.
  func watchEnds(_ partition: Int32)
  func takeReports(everything: Bool)
  func tellRebuilt()
  /// What waits of the counts is written, and the partitions told.
  func writeCounts()
  /// The process is told to stop, and does so in order.
  func stop()
  func drop(_ partition: Int32)
  func isCaughtUp(_ partition: Int32) -> Bool
  /// Learns how many partitions there are; what is open with another count is opened again.
  func refreshCounts()
  /// Its consumer has lost a broker.
  func loseBroker()
}
