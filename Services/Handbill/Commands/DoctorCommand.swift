internal import AdEvents
internal import JSON
internal import LocalProcesses
internal import Operations
internal import Runtime

/// `handbill doctor`: compares a configuration with what is really there.
enum DoctorCommand {
  static let command = Command(
    "doctor", summary: "Compares the configuration with what is really there; exit 1 if something is to be changed.",
    discussion: """
      It looks at the topics and their settings, who may use them, what keeps records and commits through the loss of a \
      machine, the database's schema, roles and login, clocks, and room on disks; and says line by line what to change. It \
      changes nothing.
      """,
    options: KafkaAddress.options + DatabaseAddress.options + [
      .value(
        "partitions", letter: "p", "COUNT",
        help: "The network's partition count; without it the most that one of its topics has."),
      .value("app", "ID", repeats: true, help: "An app that has a topic for its answers; may be repeated."),
      .value(
        "principal", "ROLE=PRINCIPAL", repeats: true,
        help: "Who a user of the brokers is, as for 'handbill topics acls'."),
      .value("disk", "PATH", repeats: true, help: "A folder whose disk is looked at; else that of this folder."),
    ],
    examples: [
      CommandExample("handbill doctor -p 12 --app weather", "Everything that can be seen from here."),
      CommandExample(
        "handbill doctor --json | jq '.[] | select(.state == \"wrong\")'", "What is to be changed, for programs."),
    ]
  ) { invocation in
    let (partitions, apps) = try TopicsCommand.settings(invocation)
    let brokers = BrokerExamination(
      kafka: try KafkaAddress(invocation), partitions: partitions, apps: apps,
      access: NetworkAccess(rights: BrokerRight.all(apps: apps), names: try AccessCommand.names(invocation)))
    let database = DatabaseExamination(databaseURL: try DatabaseAddress.address(invocation), clock: SystemClock())
    let disks = invocation.texts("disk")
    let findings = try await onOwnThread {
      brokers.findings() + database.findings() + DiskExamination.findings(disks.isEmpty ? ["."] : disks)
    }
    Terminal.print(
      invocation.wantsJSON ? JSONValue.list(findings.map(\.json)).prettyText : Finding.text(findings))
    return findings.contains { $0.state == .wrong } ? .failure : .success
  }
}
