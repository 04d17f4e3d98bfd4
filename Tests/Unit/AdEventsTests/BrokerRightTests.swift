import AdCore
import Testing

@testable import AdEvents

@Suite("Who may do what on the brokers")
struct BrokerRightTests {
  private func names(_ user: BrokerUser, _ operation: BrokerRight.Operation) -> Set<String> {
    Set(
      BrokerRight.rights(of: user).filter { $0.operation == operation && $0.resource.isTopic }.map {
        $0.resource.name + ($0.resource.isPrefix ? "*" : "")
      })
  }

  /// By hand, so that a change of the topics' table that gives somebody a right is seen.
  @Test("each user writes these topics and no others")
  func writers() throws {
    let chess = BrokerUser.app(try #require(AppID("chess")))
    let told: Set = ["ads.requests", "ads.impressions", "ads.clicks"]
    #expect(names(chess, .write) == told)
    #expect(names(.edge, .write) == told)
    #expect(names(.adSelection, .write) == ["ads.requests", "ads.responses.*", "ads.usage", "ads.rejected"])
    #expect(names(.impressionTracking, .write) == ["ads.impressions", "ads.impressions.accepted", "ads.rejected"])
    #expect(names(.clickTracking, .write) == ["ads.clicks", "ads.clicks.accepted", "ads.rejected"])
    #expect(names(.billing, .write) == ["ads.budgets", "ads.rejected"])
    #expect(names(.console, .write) == ["ads.catalog"])
    #expect(names(.command, .write) == ["ads.impressions", "ads.clicks", "ads.catalog"])
    #expect(names(.watcher, .write).isEmpty)
  }

  @Test("each user reads these topics and no others: an app only its own answers")
  func readers() throws {
    let chess = BrokerUser.app(try #require(AppID("chess")))
    #expect(names(chess, .read) == ["ads.responses.chess"])
    #expect(names(.edge, .read) == ["ads.responses.edge", "ads.catalog"])
    #expect(names(.adSelection, .read) == ["ads.requests", "ads.usage", "ads.budgets", "ads.catalog"])
    #expect(names(.impressionTracking, .read) == ["ads.impressions", "ads.impressions.accepted"])
    #expect(names(.clickTracking, .read) == ["ads.clicks", "ads.impressions.accepted", "ads.clicks.accepted"])
    #expect(
      names(.billing, .read) == [
        "ads.impressions.accepted", "ads.clicks.accepted", "ads.usage", "ads.budgets", "ads.catalog",
      ])
    #expect(names(.console, .read) == ["ads.catalog"])
    #expect(!names(.command, .read).contains { $0.hasPrefix("ads.responses") })
    #expect(names(.watcher, .read).isEmpty)
  }

  @Test("only the command makes and changes topics, nobody deletes one or changes access rules")
  func administration() throws {
    let rights = BrokerRight.all(apps: [try #require(AppID("chess"))])
    for right in rights where [.create, .alter, .alterConfigs].contains(right.operation) {
      #expect(right.user == .command && right.resource == .topics(prefix: "ads."))
    }
    #expect(rights.count == Set(rights).count)
    for right in rights where right.resource.isTopic { #expect(right.resource.name.hasPrefix("ads.")) }
    for topic in Topic.allCases { #expect(topic.name.hasPrefix("ads.")) }
  }

  @Test("the lines for Kafka's tool name user, resource, pattern and operations")
  func lines() throws {
    var names = BrokerUserNames()
    try names.add("billing=User:CN=billing,O=It's mine")
    let billing = BrokerRightScript.lines(BrokerRight.rights(of: .billing), names: names)
    #expect(
      billing.contains(
        #"kafka-acls.sh --bootstrap-server "$BROKERS" --command-config "$ADMIN_PROPERTIES" --add "#
          + #"--allow-principal 'User:CN=billing,O=It'\''s mine' --topic ads.budgets --resource-pattern-type literal "#
          + "--operation Write --operation Read"))
    let tracking = BrokerRightScript.lines(BrokerRight.rights(of: .impressionTracking), names: names)
    #expect(
      tracking.contains {
        $0.hasSuffix(
          "--allow-principal User:handbill-impression-tracking --topic ads.impressions --resource-pattern-type literal "
            + "--operation Write --operation Read --operation DescribeConfigs")
      })
    let selection = BrokerRightScript.lines(BrokerRight.rights(of: .adSelection), names: names)
    #expect(selection.contains { $0.contains("--topic ads.responses. --resource-pattern-type prefixed") })
    #expect(selection.contains { $0.contains("--group handbill-ad-selection --resource-pattern-type literal") })
  }

  @Test("a principal's name is checked")
  func mistakes() {
    for (text, mistake) in [
      ("billing", BrokerUserNames.Mistake.malformed), ("bill=User:a", .unknownRole), ("app/Ä=User:a", .unknownRole),
      ("billing=alice", .noPrincipal), ("billing=User:", .noPrincipal), ("billing=User:a\nb", .noPrincipal),
    ] {
      var names = BrokerUserNames()
      #expect(throws: mistake) { try names.add(text) }
      #expect(names == BrokerUserNames())
    }
    #expect(BrokerUser(role: "app/edge") == nil, "the answers to what came by the edge are no app's")
    for user in BrokerUser.ofEveryNetwork { #expect(BrokerUser(role: user.role) == user) }
  }
}
