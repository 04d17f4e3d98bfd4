import AdCore
import AdEvents
import Foundation
import Kafka
import LocalProcesses
import TestServers
import TestServices
import TestValues
import Testing
import Threads

extension WholeNetwork {
  /// A real broker that lets nobody do what `handbill topics acls` does not allow.
  @Suite(.enabled(if: KafkaInstallation.isAvailable, "no Kafka in KAFKA_HOME"))
  struct SecuredBrokerTests {
    static let apps = ["chess", "weather"].compactMap { AppID($0) }
    static let users = BrokerUser.ofEveryNetwork + apps.map(BrokerUser.app)
    /// Who can prove a name, and has no rights.
    static let stranger = "stranger"

    static func name(_ user: BrokerUser) -> String { String(user.defaultPrincipal.dropFirst("User:".count)) }

    private static func withPassword(_ user: BrokerUser, _ kafka: SecuredKafka) -> [String: String] {
      [
        "HANDBILL_KAFKA_BOOTSTRAP_SERVERS": kafka.passwordServers,
        "HANDBILL_KAFKA_PROPERTIES": SecuredKafka.text(kafka.passwordProperties(of: name(user))),
      ]
    }

    /// A broker whose access rules the command has set.
    static func started(apps: [String]) throws -> (SecuredKafka, CommandRun) {
      let kafka = try SecuredKafka(users: users.map(name) + [stranger])
      let command = CommandRun(kafka: kafka)
      let options = apps.flatMap { ["--app", $0] }
      try command.run(["topics", "acls", "--apply"] + options, as: SecuredKafka.superUser)
      return (kafka, command)
    }

    private static func admin(_ kafka: SecuredKafka) throws -> KafkaAdmin {
      var configuration = KafkaConfiguration(
        bootstrapServers: kafka.bootstrapServers, clientID: "test", environment: .real)
      configuration.properties = try kafka.properties(of: SecuredKafka.superUser)
      return try KafkaAdmin(configuration: configuration)
    }

    @Test("each user can write and read what the topics' table says, and nothing else")
    func matrix() async throws {
      try await onOwnThread {
        let (kafka, command) = try Self.started(apps: Self.apps.map(\.text))
        defer { kafka.stop() }
        try command.run(
          ["topics", "create", "-p", "1"] + Self.apps.flatMap { ["--app", $0.text] }, as: Self.name(.command))
        let topics =
          Topic.allCases.filter { $0 != .responses }.map(\.name) + [Topic.edgeResponses]
          + Self.apps.map { Topic.responses(for: $0) }
        for (index, user) in Self.users.enumerated() {
          // Who has a password can do as much as who has a certificate: half of them try with the one.
          let attempt =
            index.isMultiple(of: 2)
            ? try AccessAttempt(kafka: kafka, user: Self.name(user))
            : AccessAttempt(withPassword: kafka.passwordProperties(of: Self.name(user)), kafka: kafka)
          let rights = BrokerRight.rights(of: user)
          func may(_ operation: BrokerRight.Operation, _ topic: String) -> Bool {
            rights.contains { right in
              right.operation == operation
                && (right.resource == .topic(topic)
                  || right.resource.isPrefix && right.resource.isTopic && topic.hasPrefix(right.resource.name))
            }
          }
          for topic in topics {
            #expect(try attempt.writes(topic) == may(.write, topic), "\(user.role) writes \(topic)")
            #expect(try attempt.reads(topic) == may(.read, topic), "\(user.role) reads \(topic)")
          }
        }
        try checkByName(kafka)
        try checkStrangers(kafka, command)
      }
    }

    /// The acts that must never be possible, by hand.
    private func checkByName(_ kafka: SecuredKafka) throws {
      let app = try AccessAttempt(kafka: kafka, user: "handbill-app-chess")
      for topic in ["ads.impressions.accepted", "ads.clicks.accepted", "ads.budgets", "ads.catalog", "ads.usage"] {
        #expect(try !app.writes(topic), "an app writes \(topic)")
      }
      #expect(try !app.reads("ads.responses.weather"))
      #expect(try app.reads("ads.responses.chess"))
      #expect(try !app.reads("ads.responses.edge") && !app.writes("ads.responses.edge"))
      let edge = try AccessAttempt(kafka: kafka, user: "handbill-edge")
      #expect(try edge.reads("ads.responses.edge") && !edge.writes("ads.responses.edge"))
      #expect(try !edge.reads("ads.responses.chess") && !edge.writes("ads.usage"))
      #expect(try !AccessAttempt(kafka: kafka, user: "handbill-impression-tracking").writes("ads.clicks.accepted"))
      #expect(try !AccessAttempt(kafka: kafka, user: "handbill-click-tracking").writes("ads.impressions.accepted"))
      #expect(try !AccessAttempt(kafka: kafka, user: "handbill-ad-selection").writes("ads.budgets"))
    }

    private func checkStrangers(_ kafka: SecuredKafka, _ command: CommandRun) throws {
      let stranger = try AccessAttempt(kafka: kafka, user: Self.stranger)
      #expect(try !stranger.writes("ads.requests") && !stranger.reads("ads.catalog"))
      // Who proves no name, or by somebody else's word, and who comes without TLS, sees nothing.
      let folder = try TemporaryFolder(prefix: "hbk")
      let others = try OwnCertificates(folder: folder.path, serverName: "other")
      var properties = try kafka.properties(of: "handbill-console", by: others)
      #expect(!AccessAttempt(kafka: kafka, properties: properties).connects())
      properties = ["security.protocol": "SSL", "ssl.ca.location": kafka.certificates.authority]
      #expect(!AccessAttempt(kafka: kafka, properties: properties).connects())
      #expect(!AccessAttempt(kafka: kafka, properties: [:]).connects())
      // Nor who has a wrong password, or somebody else's.
      let billing = kafka.passwordProperties(of: "handbill-billing")
      #expect(AccessAttempt(withPassword: billing, kafka: kafka).connects())
      for wrong in ["a guess", kafka.passwordProperties(of: Self.stranger)["sasl.password"]] {
        properties = kafka.passwordProperties(of: "handbill-billing", password: wrong)
        #expect(!AccessAttempt(withPassword: properties, kafka: kafka).connects())
      }
      properties = kafka.passwordProperties(of: Self.stranger)
      #expect(try !AccessAttempt(withPassword: properties, kafka: kafka).reads("ads.catalog"))
      // A client that trusts another authority talks to no such broker.
      properties = try kafka.properties(of: "handbill-console")
      properties["ssl.ca.location"] = others.authority
      #expect(!AccessAttempt(kafka: kafka, properties: properties).connects())
      #expect(try AccessAttempt(kafka: kafka, user: "handbill-console").connects())
      // Access rules are the super user's alone, topics the command's.
      for user in [Self.name(.command), "handbill-app-chess"] {
        try command.run(["topics", "acls", "--apply", "--app", "weather"], as: user, accepting: [1, 69, 77])
      }
      try command.run(["topics", "create", "-p", "2"], as: "handbill-app-chess", accepting: [1, 69, 77])
      // Nobody gets the edge's answers by the id of an app.
      try command.run(["topics", "acls", "--apply", "--app", "edge"], as: SecuredKafka.superUser, accepting: [64])
    }

    @Test("a whole network works with no more rights than these: all is decided, and the accounts agree")
    func network() async throws {
      let apps = ["weather", "tide-tables", "chess", "puzzle-farm", "reader", "recipes", "sketches"]
      let (kafka, _) = try await onOwnThread { try Self.started(apps: apps) }
      defer { kafka.stop() }
      var plan = TestNetwork.Plan(apps: apps, catalog: "{}")
      plan.services.append("edge")
      plan.settings["HANDBILL_EDGE_ADDRESS_RATE"] = "0"
      // Some by certificates, and some by passwords.
      for user in [BrokerUser.adSelection, .impressionTracking, .edge] {
        plan.ownSettings[user.role] = [
          "HANDBILL_KAFKA_PROPERTIES": SecuredKafka.text(try kafka.properties(of: Self.name(user)))
        ]
      }
      for user in [BrokerUser.clickTracking, .billing, .console] {
        plan.ownSettings[user.role] = Self.withPassword(user, kafka)
      }
      plan.ownSettings["handbill"] = [
        "HANDBILL_KAFKA_PROPERTIES": SecuredKafka.text(try kafka.properties(of: Self.name(.command)))
      ]
      let network = try await TestNetwork.started(
        plan, bootstrapServers: kafka.bootstrapServers, databaseURL: try await TestDatabase.url())
      defer { network.stop() }
      try await onOwnThread {
        try network.command(["seed"])
        try network.awaitAllotments()
        let tally = network.folder.path("tally.json")
        // Devices come in by the edge.
        try network.command(
          [
            "simulate", "--edge", "http://127.0.0.1:\(network.edgePort)", "--duration", "3s", "--rate", "40", "--tally",
            tally,
          ],
          settings: Self.withPassword(.edge, kafka))
        try network.command(["drain", "--timeout", "120s"])
        let reconciled = try network.command(["reconcile", "--tally", tally])
        #expect(reconciled.status == 0)
        try network.awaitCondition("(SELECT count(*) FROM billing.charge) > 20")
        // They look two seconds after their start, which is long ago by now.
        for service in network.plan.services {
          #expect(!network.log(service).contains("the brokers are open"), "\(service)")
          #expect(!network.log(service).contains("AUTHORIZATION_FAILED"), "\(service)")
        }
      }
    }

    @Test(
      "an app that is written gets its topic by whoever may make topics, and its rights by who may give them; the rest is said"
    )
    func provisioning() async throws {
      let database = ["HANDBILL_DATABASE_URL": try await TestDatabase.url()]
      try await onOwnThread {
        let (kafka, command) = try Self.started(apps: [])
        defer { kafka.stop() }
        try command.run(["topics", "create", "-p", "2"], as: Self.name(.command))
        let folder = try TemporaryFolder(prefix: "hbo")
        let file = folder.path("catalog.json")
        try Data(sampleCatalogFile(app: "chess", key: "key-of-chess-number-1").utf8).write(
          to: URL(fileURLWithPath: file))
        let app = try AccessAttempt(kafka: kafka, user: "handbill-app-chess")
        let first = try command.run(["catalog", "apply", file], as: Self.name(.command), settings: database)
        #expect(first.contains("topic ads.responses.chess created, 2 partitions; rights not given: "), "\(first)")
        #expect(first.contains("handbill topics acls --apply --app chess"), "\(first)")
        #expect(!first.contains("handbill topics create"))
        #expect(try !app.reads("ads.responses.chess"))
        let second = try command.run(["catalog", "apply", file], as: SecuredKafka.superUser, settings: database)
        #expect(second.contains("topic ads.responses.chess existed, 2 partitions; rights "), "\(second)")
        #expect(second.contains(" added") && !second.contains("Still to be done"), "\(second)")
        #expect(try app.reads("ads.responses.chess") && app.writes("ads.requests"))
        #expect(try !app.writes("ads.budgets"))
        // What somebody has given it by hand is not this command's to take.
        let admin = try Self.admin(kafka)
        defer { admin.close() }
        let beyond = KafkaAccessRule(
          principal: "User:handbill-app-chess", isTopic: true, name: "chess.moves", isPrefix: false, operation: .write)
        try admin.allow([beyond])
        let third = try command.run(["catalog", "apply", file], as: SecuredKafka.superUser, settings: database)
        #expect(third.contains("existed, 2 partitions; rights there"), "\(third)")
        #expect(try admin.access(of: beyond.principal).rules.contains(beyond))
      }
    }

    @Test("rights beyond the table are told, and taken away with --exact")
    func exact() async throws {
      try await onOwnThread {
        let (kafka, command) = try Self.started(apps: ["chess"])
        defer { kafka.stop() }
        let again = try command.run(["topics", "acls", "--apply", "--app", "chess"], as: SecuredKafka.superUser)
        #expect(!again.contains("added") && again.contains("there"))
        let admin = try Self.admin(kafka)
        defer { admin.close() }
        #expect(try admin.hasAccessRules())
        let beyond = KafkaAccessRule(
          principal: "User:handbill-billing", isTopic: true, name: "ads.catalog", isPrefix: false, operation: .write)
        try admin.allow([beyond])
        #expect(
          try command.run(["topics", "acls", "--apply"], as: SecuredKafka.superUser).contains("beyond the table"))
        #expect(try admin.access(of: beyond.principal).rules.contains(beyond))
        let exact = try command.run(["topics", "acls", "--apply", "--exact"], as: SecuredKafka.superUser)
        #expect(exact.contains("removed"))
        #expect(try !admin.access(of: beyond.principal).rules.contains(beyond))
        // Whose app is not named keeps its rights.
        #expect(try !admin.access(of: "User:handbill-app-chess").rules.isEmpty)
      }
    }
  }
}

/// Runs the command `handbill` on a secured broker.
struct CommandRun: Sendable {
  let kafka: SecuredKafka

  @discardableResult
  func run(
    _ arguments: [String], as user: String, accepting: Set<Int32> = [0], settings: [String: String] = [:]
  ) throws -> String {
    let folder = try TemporaryFolder(prefix: "hbc")
    let output = folder.path + "/output"
    let process = try ChildProcess(
      .init(
        Programs.own.path("handbill"), arguments,
        environment: [
          "HANDBILL_KAFKA_BOOTSTRAP_SERVERS": kafka.bootstrapServers,
          "HANDBILL_KAFKA_PROPERTIES": SecuredKafka.text(try kafka.properties(of: user)),
          "SWIFT_BACKTRACE": "enable=no",
        ].merging(settings) { $1 }, output: .file(output), errorOutput: .file(output)))
    let status = process.waitForExit(timeoutMilliseconds: 120_000)
    let said = try String(contentsOfFile: output, encoding: .utf8)
    guard case .exited(let code) = status, accepting.contains(code) else {
      throw TestNetwork.CommandFailure(arguments: arguments, status: -1, said: "\(String(describing: status)): \(said)")
    }
    return said
  }
}
