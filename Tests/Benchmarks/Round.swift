import Foundation

/// Each party's trip of one round.
struct Round {
  let echo: Trip
  let committed: Trip
  let selection: Trip

  /// The largest share of the processors that the host took during one of the trips.
  var stolenShare: Double { max(echo.stolenShare, committed.stolenShare, selection.stolenShare) }

  var summary: String {
    let latencies = [echo, committed, selection].map { String(format: "%.1f", $0.latencies.quantile(0.99)) }
    return "p99 \(latencies.joined(separator: ", ")) ms, the host took \(Int(100 * stolenShare)) % of the processors"
  }
}

/// What was measured of one party: how long its answers took, and what they cost.
struct Trip {
  private(set) var latencies = RoundTrip.Latencies(microseconds: [], unanswered: 0)
  private(set) var postgresMicroseconds = 0.0
  private(set) var serviceMicroseconds = 0.0
  private(set) var stolenShare = 0.0

  /// Measures `trip`.
  init(of trip: RoundTrip, postgres: Int32?, service: Int32) throws {
    let stolen = StolenTime()
    let postgres = ProcessorTime(postgres ?? 0)
    let service = ProcessorTime(service)
    latencies = try trip.measure()
    postgresMicroseconds = postgres.microseconds
    serviceMicroseconds = service.microseconds
    stolenShare = stolen.share
  }

  /// Several trips as one.
  init(_ trips: [Trip]) {
    for trip in trips {
      latencies.add(trip.latencies)
      postgresMicroseconds += trip.postgresMicroseconds
      serviceMicroseconds += trip.serviceMicroseconds
      stolenShare = max(stolenShare, trip.stolenShare)
    }
  }

  func perRequest(_ microseconds: Double) -> Double { microseconds / Double(latencies.microseconds.count) }
}
