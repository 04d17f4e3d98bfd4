internal import Pipeline
package import Runtime

/// What every service of the pipeline measures.
package enum HostMetrics {
  package static let records = MetricDeclaration.counter(
    "handbill_records_total",
    help: "Records decided, of runs each event, by outcome, and by reason where they are free, refused or rejected.",
    labels: ["outcome", "reason"])
  package static let batches = MetricDeclaration.counter(
    "handbill_batches_total", help: "Batches committed.")
  package static let batchRecords = MetricDeclaration.histogram(
    "handbill_batch_records", bounds: MetricDeclaration.countBounds, help: "Records in a batch.")
  package static let batchSeconds = MetricDeclaration.histogram(
    "handbill_batch_seconds", bounds: MetricDeclaration.secondsBounds,
    help: "Time to decide, commit and publish a batch and what went with it in one transaction.")
  package static let duplicateRounds = MetricDeclaration.counter(
    "handbill_duplicate_rounds_total", help: "Batches decided again because ids existed already.")
  package static let bisections = MetricDeclaration.counter(
    "handbill_bisections_total", help: "Batches bisected because the database refused a row.")
  package static let reopenings = MetricDeclaration.counter(
    "handbill_partition_reopenings_total", help: "Partitions opened again after a failure, by its kind.",
    labels: ["reason"])
  package static let partitionsOpen = MetricDeclaration.gauge(
    "handbill_partitions_open", help: "Partitions that this instance owns and works on.")
  package static let partitionsStopped = MetricDeclaration.gauge(
    "handbill_partitions_stopped", help: "Partitions that wait for a person: their log was replaced.")
  package static let commitsLost = MetricDeclaration.gauge(
    "handbill_partitions_commits_lost",
    help: "Partitions that wait for a person since the logs tell of commits that the database does not have.")
  package static let lag = MetricDeclaration.gauge(
    "handbill_consumer_lag_records", help: "Records in the log that are not decided yet.",
    labels: ["topic", "partition"],
    seriesMaximum: 2_000)
  package static let watermarkAge = MetricDeclaration.gauge(
    "handbill_watermark_age_seconds", help: "How far the oldest watermark of the open partitions lies back.")
  package static let producerRebuilds = MetricDeclaration.counter(
    "handbill_producer_rebuilds_total", help: "Producers thrown away and built again.")
  package static let unsentAnswers = MetricDeclaration.counter(
    "handbill_unsent_answers_total", help: "Answers that no topic could take.")

  package static let lost = MetricDeclaration.counter(
    "handbill_lost_records_total",
    help: "Records that retention took: of a topic before they were read, or rows before they were published.",
    labels: ["topic"])
  package static let timerRefusals = MetricDeclaration.counter(
    "handbill_timer_refusals_total", help: "Things due without a record that the database refused and that were left.")

  package static let retentionBacklog = MetricDeclaration.gauge(
    "handbill_retention_backlog", help: "Days beyond retention that stay because they are not sealed.",
    labels: ["table"]
  )
  package static let upkeepCompleted = MetricDeclaration.gauge(
    "handbill_upkeep_completed_timestamp_seconds",
    help: "When the tables of the next days were seen to last, or the service started, in seconds since 1970.")

  package static let brokerOpenings = MetricDeclaration.gauge(
    "handbill_broker_openings",
    help: "How many of TLS, a login and access rules this service's brokers lack, as seen at its start.")

  package static let declarations = [
    records, batches, batchRecords, batchSeconds, duplicateRounds, bisections, reopenings, partitionsOpen,
    partitionsStopped, commitsLost, lag, watermarkAge, producerRebuilds, unsentAnswers, lost, timerRefusals,
    retentionBacklog, upkeepCompleted, brokerOpenings,
  ]
}
