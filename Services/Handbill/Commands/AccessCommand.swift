internal import AdCore
internal import AdEvents
internal import JSON
internal import LocalProcesses
internal import Operations
internal import Runtime

/// `handbill topics acls`: who may read and write what.
enum AccessCommand {
  static let principalOption = CommandOption.value(
    "principal", "ROLE=PRINCIPAL", repeats: true,
    help: "What a role is called on the brokers, else User:handbill-ROLE, for an app User:handbill-app-ID.")

  static let command = Command(
    "acls", summary: "Shows, or sets, who may do what on the brokers, by the topics' table.",
    discussion: """
      Without --apply it prints lines for Kafka's own tool; set BROKERS and ADMIN_PROPERTIES before they run. With it the
      rights are set, by a user whom the brokers let alter access rules (a super user). Nothing is refused to anybody
      unless the brokers have an authorizer and allow.everyone.if.no.acl.found is false.

      The roles: ad-selection, impression-tracking, click-tracking, billing, console, command (handbill itself), edge
      (faces devices: writes what they tell, reads the answers to that), watcher (sees topics and groups, reads no record), and
      for each --app ID the role app/ID: it writes what clients tell, and reads the answers of its own app alone.
      """,
    options: [
      .flag("apply", help: "Sets the rights."),
      .flag("exact", help: "With --apply: takes away what these users may do beyond the table."),
      principalOption,
    ],
    examples: [
      CommandExample("handbill topics acls --app chess", "Lines for kafka-acls.sh, for one app too."),
      CommandExample(
        "handbill topics acls --apply --principal 'billing=User:CN=billing,O=Example'",
        "Sets them, where billing has a certificate."),
    ], run: run)

  @Sendable private static func run(_ invocation: Invocation) async throws -> ExitCode {
    let (_, apps) = try TopicsCommand.settings(invocation)
    let access = NetworkAccess(rights: BrokerRight.all(apps: apps), names: try names(invocation))
    guard invocation.has("apply") else {
      if invocation.has("exact") { throw UsageError("--exact needs --apply") }
      if invocation.wantsJSON {
        let rules = access.rules.map { JSONValue.object(NetworkAccess.members($0.role, $0.rule)) }
        Terminal.print(JSONValue.list(rules).prettyText)
      } else {
        Terminal.print(BrokerRightScript.lines(access.rights, names: access.names).joined(separator: "\n"))
      }
      return .success
    }
    let kafka = try KafkaAddress(invocation)
    if kafka.isEmbedded { throw UsageError("the embedded broker has no access rules") }
    let results = try await onOwnThread { try access.apply(kafka, isExact: invocation.has("exact")) }
    if invocation.wantsJSON {
      Terminal.print(JSONValue.list(results.map(\.json)).prettyText)
    } else {
      Terminal.print(TextTable.text(results.map(\.texts)))
    }
    return .success
  }

  static func names(_ invocation: Invocation) throws(UsageError) -> BrokerUserNames {
    var names = BrokerUserNames()
    for text in invocation.texts("principal") {
      do throws(BrokerUserNames.Mistake) { try names.add(text) } catch {
        switch error {
        case .malformed: throw UsageError("--principal must be ROLE=PRINCIPAL, such as billing=User:billing")
        case .unknownRole:
          let roles = BrokerUser.ofEveryNetwork.map(\.role).joined(separator: ", ")
          throw UsageError("--principal must begin with one of \(roles), or app/ID")
        case .noPrincipal: throw UsageError("--principal must name a Kafka principal, such as User:billing")
        }
      }
    }
    return names
  }
}
