internal import EdgeCore
internal import Runtime

/// What the edge measures.
struct EdgeMetrics: Sendable {
  static let requests = MetricDeclaration.counter(
    "handbill_edge_requests_total", help: "HTTP requests answered, by what was asked and the answer's status.",
    labels: ["endpoint", "status"])
  static let seconds = MetricDeclaration.histogram(
    "handbill_edge_request_seconds", bounds: MetricDeclaration.secondsBounds,
    help: "From a whole request to its answer, by what was asked.", labels: ["endpoint"])
  static let refused = MetricDeclaration.counter(
    "handbill_edge_refused_total", help: "Requests not done, by reason.", labels: ["reason"])
  static let events = MetricDeclaration.counter(
    "handbill_edge_events_total", help: "Events of batches: accepted once Kafka had them, or refused.",
    labels: ["outcome"])
  static let answersDropped = MetricDeclaration.counter(
    "handbill_edge_answers_dropped_total",
    help: "Answers read that nobody waits for any more, or that another instance on the same partition waits for.")
  static let waiting = MetricDeclaration.gauge(
    "handbill_edge_waiting", help: "Requests that wait: for an answer, or for Kafka's word.", labels: ["endpoint"])
  static let connections = MetricDeclaration.gauge("handbill_edge_connections", help: "Connections that are open.")
  static let stalled = MetricDeclaration.gauge(
    "handbill_edge_kafka_stalled", help: "1 while Kafka takes nothing or no answers are read, else 0.")
  static let declarations = [
    requests, seconds, refused, events, answersDropped, waiting, connections, stalled,
  ]

  let registry: MetricsRegistry

  func answered(_ endpoint: Endpoint, status: Int, microseconds: Int64) {
    registry.counter(Self.requests, ["endpoint": endpoint.rawValue, "status": "\(status)"]).add()
    registry.histogram(Self.seconds, ["endpoint": endpoint.rawValue]).observe(Double(microseconds) / 1_000_000)
  }

  func refused(_ refusal: EdgeRefusal) { registry.counter(Self.refused, ["reason": refusal.word]).add() }

  func events(accepted: Int, refused: Int) {
    registry.counter(Self.events, ["outcome": "accepted"]).add(accepted)
    registry.counter(Self.events, ["outcome": "refused"]).add(refused)
  }
}

/// What can be asked of the edge.
enum Endpoint: String, CaseIterable, Sendable {
  case ads
  case events
  case creatives
  case preflight
}
