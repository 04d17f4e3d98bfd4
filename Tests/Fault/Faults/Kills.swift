import AdCore
import LocalProcesses
import PipelineHost
import Runtime
import TestValues

/// Each service is killed like by a power cut at each named place, all services at once, in an order by chance.
struct FailpointKills: Fault {
  let name = "failpoint-kills"
  let summary = "kill -9 of each service at each failpoint"
  let invariants = ["I3", "I4", "I5", "I6", "I7"]
  /// Those that a busy service comes to by itself.
  private static let places: [Failpoint] = [
    .afterFence, .duringLoad, .afterDecide, .beforeCommit, .afterCommit, .afterPublish,
  ]
  private static let milliseconds: Int64 = 60_000

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    var orders = FaultNetwork.services.map { _ in Self.places.shuffled(using: &chance) }
    while let round = popRound(&orders) {
      var armed: [(instance: ServiceInstance, place: Failpoint)] = []
      for (service, place) in zip(FaultNetwork.services, round) {
        let instance = try network.instance(service)
        instance.forgetFailpoints()
        // A partition is opened four times at the start, and loaded as often; batches come all the time.
        let time = chance.number(1...(place == .afterFence || place == .duringLoad ? 4 : 12))
        instance.arm("\(place.rawValue):kill@\(time)")
        armed.append((instance, place))
      }
      for (instance, place) in armed {
        try network.wait("\(instance.service) to end \(place.rawValue)", milliseconds: Self.milliseconds) {
          instance.hasFailed
        }
      }
    }
    try killStopping(network)
  }

  /// Told to end in order, each is killed before it has finished that.
  private func killStopping(_ network: FaultNetwork) throws {
    for service in FaultNetwork.services {
      let instance = try network.instance(service)
      instance.forgetFailpoints()
      instance.arm("\(Failpoint.duringStop.rawValue):kill@1")
      try network.wait("\(service) to be there again", milliseconds: Self.milliseconds) {
        instance.isArmed && instance.isReady
      }
      instance.interrupt()
    }
    for service in FaultNetwork.services {
      let instance = try network.instance(service)
      try network.wait("\(service) to end while it stops", milliseconds: Self.milliseconds) { instance.hasFailed }
    }
  }

  private func popRound(_ orders: inout [[Failpoint]]) -> [Failpoint]? {
    guard orders.allSatisfy({ !$0.isEmpty }) else { return nil }
    return orders.indices.map { orders[$0].removeLast() }
  }
}

/// Services are killed at any moment, often before they are quite there again.
struct KillStorm: Fault {
  let name = "kill-storm"
  let summary = "kill -9 of services at any moment, for 20 s"
  let invariants = ["I3", "I4", "I5", "I6", "I7"]
  private static let milliseconds = 20_000

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    var passed = 0
    while passed < Self.milliseconds {
      let services = network.deciders
      services[chance.number(0...services.count - 1)].kill()
      let pause = chance.number(200...2_500)
      network.pause(milliseconds: pause)
      passed += pause
    }
  }
}

/// Services are told to end while they are busy: each leaves in order and soon.
struct TerminationUnderLoad: Fault {
  let name = "sigterm"
  let summary = "SIGTERM under load: exit 0 within 10 s"
  let invariants = ["I3", "I5", "I6"]
  private static let milliseconds = 10_000

  func make(in network: FaultNetwork, _ chance: inout SeededChance) throws {
    for service in FaultNetwork.services.shuffled(using: &chance) {
      let instance = try network.instance(service)
      guard let end = instance.terminate(timeoutMilliseconds: Self.milliseconds) else {
        throw FaultFailure("\(service) had not ended \(Self.milliseconds) ms after SIGTERM")
      }
      guard end.status.isSuccess else { throw FaultFailure("after SIGTERM \(service) \(end.status)") }
      network.note("\(service) ended in order after \(end.milliseconds) ms")
      network.pause(milliseconds: chance.number(100...1_000))
    }
  }
}
