internal import AdCore
internal import Kafka
internal import Pipeline

/// Asks the logs of partitions that are being opened, all at once: each of them waits for no more round trips than one alone
/// would.
struct PartitionLogs<Service: PipelineService> {
  let service: Service
  let probe: KafkaTopicProbe
  let mac: MessageMAC
  private static var timeoutMilliseconds: Int32 { 10_000 }
  /// The worker's other partitions wait as well: one log that says nothing costs them little.
  private static var togetherMilliseconds: Int32 { 2_000 }

  /// - Parameter beat: called before each question.
  /// - Returns: in the order of `asked`. Where not all can be answered together each is asked alone, so that none fails for
  ///   another's log.
  func answers(
    to asked: [(partition: Int32, questions: LogQuestions)], beat: () -> Void
  ) -> [Result<LogAnswers, PipelineError>] {
    beat()
    if asked.count > 1, let answers = try? ask(asked, timeoutMilliseconds: Self.togetherMilliseconds) {
      return answers.map { .success($0) }
    }
    return asked.map { one in
      beat()
      return Result { () throws(PipelineError) in
        try ask([one], timeoutMilliseconds: Self.timeoutMilliseconds)[0]
      }
    }
  }

  private func ask(
    _ asked: [(partition: Int32, questions: LogQuestions)], timeoutMilliseconds: Int32
  ) throws(PipelineError) -> [LogAnswers] {
    do throws(KafkaError) {
      let marks = try probe.lastMarks(
        of: asked.flatMap { one in Self.logs(one.questions.topics, one.partition) }, by: mac,
        timeoutMilliseconds: timeoutMilliseconds)
      let inputs = service.inputs.map(\.topic)
      let probes = try probe.probes(
        asked.flatMap { one in Self.logs(inputs, one.partition) }, lastOffsets: asked.flatMap(\.questions.lastOffsets),
        timeoutMilliseconds: timeoutMilliseconds)
      let markCount = service.markedTopics.count
      return asked.indices.map { index in
        LogAnswers(
          marks: Array(marks.dropFirst(index * markCount).prefix(markCount)),
          probes: Array(probes.dropFirst(index * inputs.count).prefix(inputs.count)))
      }
    } catch {
      let partitions = asked.map { "\($0.partition)" }.joined(separator: ", ")
      throw .logUnreadable("the logs of partition \(partitions) cannot be probed: \(error)")
    }
  }

  private static func logs(_ topics: [String], _ partition: Int32) -> [KafkaTopicPartition] {
    topics.map { KafkaTopicPartition(topic: $0, partition: partition) }
  }
}
