internal import AdCore

/// How the simulated devices behave. Rates are in basis points: so many of 10,000.
struct SimulationSettings: Sendable {
  /// Visits to an app that begin in a second; each asks for at least one ad. With 0 nobody comes and nothing is written.
  var visitsPerSecond = 120
  /// How many different devices there are: fewer come back more often.
  var deviceCount = 20_000
  /// Ads shown that are tapped.
  var clickBasisPoints = 900
  /// Filled requests whose ad comes on screen.
  var viewBasisPoints = 8_800
  /// Visits with a developer or ad-hoc build, which get test ads (A2).
  var testBuildBasisPoints = 400
  /// Events that are sent twice.
  var duplicateBasisPoints = 300
  /// Events that are held back, so that they arrive late and out of order.
  var lateBasisPoints = 500
  /// Events whose token is altered by a bit: they must be rejected (I1).
  var forgedBasisPoints = 30
  /// Pieces of garbage that are written into the clients' topics in a second.
  var garbagePerSecond = 2
  /// What decides everything above.
  var seed: UInt64 = 1
  /// Tells this run from others: client ids are made from it.
  var run: UInt64 = 0
}
