import AdCore
import TestValues

/// Something that goes wrong with real processes. Whatever it is, afterwards all accounts agree.
///
/// To add one: a type in `Faults/` with this protocol, and its name in ``Faults/all``. Devices are busy all the while;
/// when `make` returns, the fault is over, and the runner measures how long everything takes to be decided, stops the
/// devices, and compares all accounts with each other and with the devices' own.
protocol Fault: Sendable {
  /// As people name it on the command line: `commit-cut-before`.
  var name: String { get }
  /// What goes wrong, in a few words.
  var summary: String { get }
  /// What is at stake, by the design's numbers. (All of them are checked.)
  var invariants: [String] { get }
  /// Where it can be made.
  var needs: NetworkNeeds { get }
  /// Whether it brings devices of its own, and hands their tally to the network; then nobody else is there.
  var bringsDevices: Bool { get }
  /// Why this machine cannot make it; nil where it can.
  var reasonSkipped: String? { get }
  /// Makes the fault. Everything that depends on chance takes it from `chance`.
  ///
  /// - Throws: when the fault could not be made, or something did not behave as it must.
  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws
  /// What people do when all is over and decided, before the accounts are compared.
  ///
  /// - Throws: when something did not become what it must.
  func conclude(in network: FaultNetwork) throws
}

extension Fault {
  var needs: NetworkNeeds { NetworkNeeds() }
  var bringsDevices: Bool { false }
  var reasonSkipped: String? { nil }
  func conclude(in network: FaultNetwork) throws {}
}

/// What a fault needs of the network around it. Faults with the same needs follow each other in one network.
struct NetworkNeeds: Hashable, Sendable {
  var brokers = 1
  /// Of every topic.
  var partitions: Int32 = 4
  /// PostgreSQL has a standby.
  var hasStandby = false
  /// Nothing is committed that the standby does not have.
  var isStandbySynchronous = true
  /// Megabytes of a file system of its own for PostgreSQL's data.
  var databaseMegabytes: Int?
  /// Megabytes of a file system of its own for Kafka's data.
  var brokerMegabytes: Int?
  /// Further settings of the services.
  var settings: [String: String] = [:]
  /// Processes of ad selection.
  var selections = 1
  /// The network is of no more use afterwards.
  var isUsedUp = false
}

/// Something did not behave as it must, or a fault could not be made.
struct FaultFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
