import AdCore
import AdEvents
import Pipeline

/// What an instance shares with its store and its writer: the world, and whether it still lives.
final class InstanceContext {
  unowned let world: World
  let clock: SkewedClock
  /// The catalogue as the process has read it; nil for services that read none.
  let catalog: CatalogReader?
  var isDead = false
  /// How many partitions the topics had when a partition was opened.
  var partitionCounts: [Int32: Int32] = [:]
  /// On which server a partition was opened.
  var openedOn: [Int32: Int] = [:]
  /// What the database knew of its history when a batch was decided that is decided again.
  var timelinesThen: TimelineTables?
  private var producer: SimulatedWriter?

  init(world: World, clock: SkewedClock, catalog: CatalogReader?) {
    self.world = world
    self.clock = clock
    self.catalog = catalog
  }

  /// What the database knows of its history.
  var timelines: TimelineTables { timelinesThen ?? world.timelines }

  var random: SeededRandom {
    get { world.random }
    set { world.random = newValue }
  }

  /// The instance's producer; it lives as long as the instance.
  var writer: SimulatedWriter {
    if let producer { return producer }
    let made = SimulatedWriter(context: self)
    producer = made
    return made
  }

  /// A connection with a server that has ended is of no use: whoever finds it so makes another one.
  func checkServer(_ server: inout Int) throws(PipelineError) {
    guard server != world.server else { return }
    server = world.server
    throw .databaseUnavailable("the server has ended, and another one stands in its place")
  }

  /// What happens to a call; throws when it does not even get there.
  func fate(of port: PortCall) throws(PipelineError) -> CallFate {
    if isDead { throw .databaseUnavailable("the process is gone") }
    guard world.isFaulty, world.random.chance(world.plan.callFaultPermille) else { return .fine }
    let fate: CallFate = world.random.pick([.crashBefore, .crashAfter, .lostBefore, .lostAfter])
    switch fate {
    case .crashBefore:
      world.coverage.note(.crashBeforeCall)
      isDead = true
      throw .databaseUnavailable("crashed")
    case .lostBefore where port != .send:
      world.coverage.note(.connectionLost)
      let detail = "the connection was lost before \(port)"
      if port == .probe { throw .logUnreadable(detail) }
      throw .databaseUnavailable(detail)
    default:
      return fate
    }
  }
}
