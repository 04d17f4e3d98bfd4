internal import AdCore
internal import AdEvents
internal import Crypto
internal import Kafka
internal import Operations

/// What an app needs before it gets ads, as catalogue and brokers have it.
struct AppExamination: Sendable {
  let app: AppID
  let databaseURL: String
  /// Where the topic of its answers is looked for; nil for devices that come by the edge, which need none.
  let topics: NetworkTopics?
  /// The key that the app's build carries; nil where nobody gave one.
  let key: String?

  /// Blocks.
  func findings() throws -> [Finding] {
    let rows = try CatalogCommand.withStore(databaseURL) { try $0.list() }
    let records = Dictionary(rows.compactMap { row in row.record.map { (row.key, $0) } }) { first, _ in first }
    guard let missing = CatalogStep.missing(of: app, in: records) else {
      return [
        .wrong("catalogue", "app", "app \(app) is not registered", "handbill catalog apply, with a file that has it")
      ]
    }
    var findings: [Finding] = [.good("catalogue", "app", "registered")]
    findings += missing.map { .wrong("catalogue", "app", $0.detail, $0.command ?? "handbill catalog apply") }
    if missing.isEmpty { findings.append(.good("catalogue", "set-up", "agreement, audience, ads and a key are there")) }
    findings.append(standing(records))
    findings.append(countries(records))
    if let key { findings.append(judge(key, records)) }
    if let topics { findings.append(topic(on: topics)) }
    return findings
  }

  private func countries(_ records: [String: CatalogRecord]) -> Finding {
    var countries: [Country] = []
    for case .settings(let settings) in records.values { countries = settings.countries.sorted() }
    let names = countries.prefix(20).map(\.description).joined(separator: ", ")
    return .judged(
      "catalogue", "countries (A5)", countries.isEmpty ? "none: nobody gets an ad" : names, isGood: !countries.isEmpty,
      "handbill catalog set settings countries=US,DE")
  }

  /// What the app is offered for what it lets become of ads' actions: nothing that it lacks, and nothing to hide.
  private func standing(_ records: [String: CatalogRecord]) -> Finding {
    guard case .standing(let standing)? = records["standing/\(app)"] else {
      return .good("catalogue", "offer (A7)", "paid ads for all of its requests")
    }
    return .good(
      "catalogue", "offer (A7)",
      "paid ads for \(standing.offeredPercent) % of its requests: of \(standing.tapped) ads that were tapped it stopped the action of "
        + "\(standing.stopped)")
  }

  /// A1: what services will say of the key.
  private func judge(_ text: String, _ records: [String: CatalogRecord]) -> Finding {
    let hash = SHA256.hash(text.utf8)
    let advice =
      "put a key of \(app) into the build; 'handbill catalog list --kind \(CatalogKind.appKey.rawValue)' shows their hashes"
    for case .appKey(let key) in records.values where key.keyHash == hash {
      if key.app != app { return .wrong("catalogue", "key (A1)", "it is a key of app \(key.app)", advice) }
      if key.isRevoked { return .wrong("catalogue", "key (A1)", "it is revoked", advice) }
      return .good("catalogue", "key (A1)", "of a \(key.build.name) build")
    }
    return .wrong("catalogue", "key (A1)", "the catalogue has no such key", advice)
  }

  private func topic(on topics: NetworkTopics) -> Finding {
    let settings = topics.settings(apps: [app]).filter { $0.name == Topic.responses(for: app) }
    do throws(KafkaError) {
      let counts = try topics.counts(settings)
      return .judged(
        "topics", Topic.responses(for: app), counts.isEmpty ? "missing" : "there", isGood: !counts.isEmpty,
        "handbill topics create --app \(app)")
    } catch {
      return .unknown("topics", Topic.responses(for: app), "\(error)")
    }
  }
}
