package import AdBasics

/// One thing that somebody may do on the brokers. What no right says is refused, where the broker has an authorizer and
/// `allow.everyone.if.no.acl.found` is false.
package struct BrokerRight: Hashable, Sendable {
  /// By the words of Kafka's own tools. Reading, writing and altering include describing.
  package enum Operation: String, CaseIterable, Hashable, Sendable {
    case read = "Read"
    case write = "Write"
    case create = "Create"
    case describe = "Describe"
    case alter = "Alter"
    case describeConfigs = "DescribeConfigs"
    case alterConfigs = "AlterConfigs"
  }

  /// What it is a right to.
  package enum Resource: Hashable, Sendable {
    case topic(String)
    case topics(prefix: String)
    case group(String)
    case groups(prefix: String)

    /// The topic's or group's name, or how the names begin.
    package var name: String {
      switch self {
      case .topic(let name), .topics(let name), .group(let name), .groups(let name): name
      }
    }

    package var isTopic: Bool {
      switch self {
      case .topic, .topics: true
      case .group, .groups: false
      }
    }

    package var isPrefix: Bool {
      switch self {
      case .topics, .groups: true
      case .topic, .group: false
      }
    }
  }

  package let user: BrokerUser
  package let resource: Resource
  package let operation: Operation

  /// What every topic of the network begins with.
  static let topicPrefix = "ads."
  /// The group that clients name which read without one: librdkafka looks for its coordinator all the same.
  package static let groupOfNobody = "handbill.none"
}

// The rights, from the topics' table.
extension BrokerRight {
  /// All rights of a network with these apps.
  package static func all(apps: [AppID]) -> [BrokerRight] {
    (BrokerUser.ofEveryNetwork + apps.map(BrokerUser.app)).flatMap(rights)
  }

  /// What `user` may do, each thing once, in the order of the topics.
  package static func rights(of user: BrokerUser) -> [BrokerRight] {
    var rights: [BrokerRight] = []
    func may(_ operations: Operation..., on resource: Resource) {
      for operation in operations {
        let right = BrokerRight(user: user, resource: resource, operation: operation)
        if !rights.contains(right) { rights.append(right) }
      }
    }
    if let participant = user.participant {
      for topic in Topic.allCases {
        let isWriter = topic.writers.contains(participant)
        if isWriter { may(.write, on: resource(topic, of: user)) }
        // Who writes what services believe looks whether it tells of more than the database holds.
        let isReader = topic.readers.contains(participant)
        if isReader || isWriter && topic.isAuthenticated { may(.read, on: resource(topic, of: user)) }
        // On these settings its memory rests, and what it takes for the time.
        if isReader, participant.keepsPositions { may(.describeConfigs, on: .topic(topic.name)) }
      }
      may(.describe, on: .group(groupOfNobody))
    }
    if let group = user.progressGroup { may(.read, on: .group(group)) }
    switch user {
    case .adSelection: for topic in Topic.namedByTokens { may(.describe, on: .topic(topic.name)) }
    case .command: addCommand { may($0, on: $1) }
    case .watcher:
      may(.describe, on: .topics(prefix: topicPrefix))
      may(.describe, on: .groups(prefix: "handbill-"))
    case .app: may(.read, on: .group(user.defaultPrincipal.replacing("User:", with: "")))
    default: break
    }
    return rights
  }

  /// People make topics, publish the catalogue after a change, send rejected events again, and look where a log was
  /// replaced. They delete nothing, and write nothing in the name of a service but the catalogue.
  private static func addCommand(_ may: (Operation, Resource) -> Void) {
    for operation in [Operation.create, .alter, .alterConfigs] { may(operation, .topics(prefix: topicPrefix)) }
    for topic in [Topic.impressions, .clicks, .catalog] { may(.write, .topic(topic.name)) }
    for topic in Topic.allCases where topic.readers.contains(where: \.keepsPositions) {
      may(.read, .topic(topic.name))
    }
    may(.describe, .group(groupOfNobody))
  }

  /// Of the answers an app has its own topic, the edge the one of what came by it, and who answers writes all.
  private static func resource(_ topic: Topic, of user: BrokerUser) -> Resource {
    guard topic == .responses else { return .topic(topic.name) }
    return switch user {
    case .app(let id): .topic(Topic.responses(for: id))
    case .edge: .topic(Topic.edgeResponses)
    default: .topics(prefix: topic.name)
    }
  }
}

/// What the users are called on a broker.
package struct BrokerUserNames: Hashable, Sendable {
  /// Why a text says no name.
  package enum Mistake: Error, Hashable, Sendable {
    case malformed
    case unknownRole
    /// Kafka's principals are `TYPE:NAME`, of printing characters.
    case noPrincipal
  }

  private var named: [BrokerUser: String] = [:]

  package init() {}

  /// Adds what `text` says: `billing=User:CN=billing,O=Example`.
  package mutating func add(_ text: String) throws(Mistake) {
    guard let equals = text.firstIndex(of: "=") else { throw .malformed }
    guard let user = BrokerUser(role: String(text[..<equals])) else { throw .unknownRole }
    let principal = text[text.index(after: equals)...]
    let parts = principal.split(separator: ":", maxSplits: 1)
    let isPlain =
      principal.utf8.count <= 255 && principal.unicodeScalars.allSatisfy { $0.value >= 32 && $0.value != 127 }
    guard parts.count == 2, isPlain else { throw .noPrincipal }
    named[user] = String(principal)
  }

  /// `User:handbill-billing` where nothing else was said.
  package func principal(of user: BrokerUser) -> String { named[user] ?? user.defaultPrincipal }
}

/// Rights as lines for Kafka's own tool.
package enum BrokerRightScript {
  /// One line for each user and resource: `kafka-acls.sh … --add --allow-principal User:handbill-billing …`.
  package static func lines(_ rights: [BrokerRight], names: BrokerUserNames) -> [String] {
    var lines: [(head: String, operations: String)] = []
    for right in rights {
      let resource = right.resource
      let head =
        "--allow-principal \(quoted(names.principal(of: right.user))) "
        + "--\(resource.isTopic ? "topic" : "group") \(quoted(resource.name)) "
        + "--resource-pattern-type \(resource.isPrefix ? "prefixed" : "literal")"
      let operation = " --operation \(right.operation.rawValue)"
      if lines.last?.head == head {
        lines[lines.count - 1].operations += operation
      } else {
        lines.append((head, operation))
      }
    }
    return lines.map {
      "kafka-acls.sh --bootstrap-server \"$BROKERS\" --command-config \"$ADMIN_PROPERTIES\" --add \($0.head)\($0.operations)"
    }
  }

  private static func quoted(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy {
      (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || [45, 46, 47, 58, 95].contains($0)
    }
    return isPlain ? text : "'\(text.replacing("'", with: "'\\''"))'"
  }
}
