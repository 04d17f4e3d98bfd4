internal import AdEvents
internal import JSON
internal import Kafka

/// The rights of the network's users on a broker, made from the topics' table.
struct NetworkAccess: Sendable {
  /// One right and what became of it.
  struct Result: Sendable {
    let role: String
    let rule: KafkaAccessRule
    /// `missing` becomes `added`, `beyond the table` becomes `removed`; `there` stays.
    let outcome: String

    /// For a table.
    var texts: [String] {
      let resource = "\(rule.isTopic ? "topic" : "group") \(rule.name)\(rule.isPrefix ? "*" : "")"
      return [rule.principal, "\(rule.operation)", resource, outcome]
    }

    var json: JSONValue { .object([.init("outcome", .text(outcome))] + NetworkAccess.members(role, rule)) }
  }

  let rights: [BrokerRight]
  let names: BrokerUserNames

  /// What is to be there, each with the user that it is for.
  var rules: [(role: String, rule: KafkaAccessRule)] {
    rights.map { ($0.user.role, KafkaAccessRule($0, names)) }
  }

  /// Adds what is missing. What these users may do beyond the table stays, unless `isExact`.
  ///
  /// Blocks.
  /// - Throws: `KafkaError`; `noAccessRules` where the brokers have no authorizer.
  func apply(_ kafka: KafkaAddress, isExact: Bool) throws(KafkaError) -> [Result] {
    let admin = try KafkaAdmin(configuration: kafka.configuration(clientID: "handbill-access"))
    defer { admin.close(timeoutMilliseconds: 1_000) }
    let wanted = rules
    var there: Set<KafkaAccessRule> = []
    var beyond: [(role: String, rule: KafkaAccessRule)] = []
    for (principal, role) in Dictionary(
      wanted.map { ($0.rule.principal, $0.role) }, uniquingKeysWith: { first, _ in first })
    {
      let access = try admin.access(of: principal)
      there.formUnion(access.rules)
      beyond += access.rules.subtracting(wanted.map(\.rule)).map { (role, $0) }
    }
    try admin.allow(wanted.map(\.rule).filter { !there.contains($0) })
    if isExact { try admin.forbid(beyond.map(\.rule)) }
    let sorted = beyond.sorted { ($0.role, $0.rule.name) < ($1.role, $1.rule.name) }
    return wanted.map { Result(role: $0.role, rule: $0.rule, outcome: there.contains($0.rule) ? "there" : "added") }
      + sorted.map { Result(role: $0.role, rule: $0.rule, outcome: isExact ? "removed" : "beyond the table") }
  }

  /// What tells a rule, for JSON.
  static func members(_ role: String, _ rule: KafkaAccessRule) -> [JSONValue.Member] {
    [
      .init("name", .text(rule.name)), .init("operation", .text("\(rule.operation)")),
      .init("pattern", .text(rule.isPrefix ? "prefixed" : "literal")), .init("principal", .text(rule.principal)),
      .init("resource", .text(rule.isTopic ? "topic" : "group")), .init("role", .text(role)),
    ]
  }
}

extension KafkaAccessRule {
  init(_ right: BrokerRight, _ names: BrokerUserNames) {
    let operation: Operation =
      switch right.operation {
      case .read: .read
      case .write: .write
      case .create: .create
      case .describe: .describe
      case .alter: .alter
      case .describeConfigs: .describeConfigs
      case .alterConfigs: .alterConfigs
      }
    self.init(
      principal: names.principal(of: right.user), isTopic: right.resource.isTopic, name: right.resource.name,
      isPrefix: right.resource.isPrefix, operation: operation)
  }
}
