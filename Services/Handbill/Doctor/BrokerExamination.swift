internal import AdCore
internal import AdEvents
internal import Kafka
internal import PipelineHost

/// What `handbill doctor` looks at on the brokers. Blocks.
struct BrokerExamination: Sendable {
  let kafka: KafkaAddress
  /// The network's partition count; nil for what its topics have.
  let partitions: Int32?
  let apps: [AppID]
  let access: NetworkAccess

  func findings() -> [Finding] {
    do throws(KafkaError) {
      let admin = try KafkaAdmin(configuration: kafka.configuration(clientID: "handbill-doctor"))
      defer { admin.close(timeoutMilliseconds: 1_000) }
      let topics = try NetworkTopics.find(on: kafka, partitions: partitions)
      let wanted = topics.settings(apps: apps)
      let counts = try topics.counts(wanted)
      var findings: [Finding] = []
      for topic in wanted {
        guard let partitions = counts[topic.name] else {
          findings.append(.wrong("topics", topic.name, "missing", Self.creation(topic)))
          continue
        }
        findings += Self.judge(
          topic, partitions: partitions, inForce: try admin.settings(of: topic.name),
          own: try admin.settings(of: topic.name, onlyOwn: true))
      }
      return findings + (try accessFindings(admin))
    } catch {
      let servers = kafka.bootstrapServers
      let advice =
        KafkaLibrary.refusal(of: kafka.properties)
        ?? "see that a broker answers at \(servers), or say where one is: HANDBILL_KAFKA_BOOTSTRAP_SERVERS"
      return [.wrong("brokers", "Kafka", "\(error)", advice)]
    }
  }

  /// What makes a topic, and sets it right.
  private static func creation(_ topic: TopicSettings) -> String {
    let prefix = Topic.responses.name
    guard topic.name.hasPrefix(prefix), topic.name != Topic.edgeResponses else { return "handbill topics create" }
    return "handbill topics create --app \(topic.name.dropFirst(prefix.count))"
  }

  /// One topic beside the table, and beside what keeps records through the loss of a broker.
  private static func judge(
    _ topic: TopicSettings, partitions: Int32, inForce: [String: String], own: [String: String]
  ) -> [Finding] {
    var findings = [
      Finding.judged(
        "topics", topic.name, "\(partitions) partitions", isGood: partitions >= topic.partitions,
        "it should have \(topic.partitions): \(creation(topic)) -p \(topic.partitions)")
    ]
    for (name, value) in topic.keepingRetention(of: own).configuration.sorted(by: { $0.key < $1.key }) {
      let found = inForce[name] ?? "not set"
      findings.append(
        name == TopicSettings.retention && own[name] != nil
          ? judgeRetention(of: topic, found)
          : .judged(
            "topics", "\(topic.name) \(name)", found, isGood: found == value, "set \(value): \(creation(topic))"))
    }
    let copies = inForce["min.insync.replicas"] ?? ""
    findings.append(
      .judged(
        "topics", "\(topic.name) min.insync.replicas", copies, isGood: (Int(copies) ?? 0) >= 2,
        "with 1 the loss of one broker may lose what was confirmed: 3 copies, and min.insync.replicas=2"))
    return findings
  }

  /// Whoever runs the network may keep records for longer than the table has it, up to what is promised of clients.
  private static func judgeRetention(of topic: TopicSettings, _ found: String) -> Finding {
    let usual = topic.configuration[TopicSettings.retention] ?? ""
    let subject = "\(topic.name) \(TopicSettings.retention)"
    guard found != usual else { return .good("topics", subject, found) }
    if let promise = topic.promise(brokenBy: found) {
      return .wrong(
        "topics", subject, found, "docs/privacy.md promises at most \(promise), set \(usual): \(creation(topic))")
    }
    if let milliseconds = Int64(found), let least = Int64(usual), milliseconds > least {
      return .noted("topics", subject, "\(found), longer than \(usual): it stays so")
    }
    return .wrong(
      "topics", subject, found,
      "what nobody has read by then is lost: set \(usual): \(creation(topic)) --reset-retention")
  }

  private func accessFindings(_ admin: KafkaAdmin) throws(KafkaError) -> [Finding] {
    let hasRules = try admin.hasAccessRules()
    var findings = BrokerAccess.openings(properties: kafka.properties, hasRules: hasRules).map {
      Finding.wrong("brokers", "access", $0, "docs/operations.md, \"Who may do what\"")
    }
    guard hasRules else { return findings }
    let rules = access.rules.map(\.rule)
    for principal in Set(rules.map(\.principal)).sorted() {
      let wanted = Set(rules.filter { $0.principal == principal })
      do throws(KafkaError) {
        let there = try admin.access(of: principal).rules
        let (missing, beyond) = (wanted.subtracting(there), there.subtracting(wanted))
        findings.append(
          .judged(
            "access", principal, "\(missing.count) rights missing, \(beyond.count) beyond the table",
            isGood: missing.isEmpty && beyond.isEmpty,
            "handbill topics acls --apply\(missing.isEmpty ? " --exact" : ""), with the same --app and --principal"))
      } catch {
        guard error.kind == .notAuthorized else { throw error }
        findings.append(.unknown("access", principal, "this login may not ask"))
      }
    }
    return findings
  }
}
