internal import AdCore
package import Runtime

/// What the console does again and again beside comparing and sealing. Nobody waits for it, so a round that is never done any
/// more, as when there is more to read than a statement may take time for, is seen by nothing but this.
package enum Rounds {
  package static let completed = MetricDeclaration.gauge(
    "handbill_round_completed_timestamp_seconds",
    help: "When what the console does again and again was done last, or the console started, in seconds since 1970.",
    labels: ["round"])

  /// The round has been done, or begins for the first time.
  static func note(_ round: String, in context: ServiceContext) {
    context.metrics.gauge(completed, ["round": round]).set(Double(context.clock.now.milliseconds) / 1_000)
  }
}
