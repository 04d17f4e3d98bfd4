internal import AdCore
internal import JSON

extension ServeExplanation {
  /// For a terminal: sentences.
  package var text: String { ServeStory(explanation: self).text }
}

/// An explanation in sentences, from the stored rows.
struct ServeStory {
  let explanation: ServeExplanation

  var text: String {
    let paragraphs =
      explanation.isKnown
      ? [token, request, impression, taps, money, told, rejected, batches, others, leftOut]
      : [token, unknown, rejected, missing]
    return paragraphs.filter { !$0.isEmpty }.map { $0.map { $0 + "\n" }.joined() }.joined(separator: "\n")
  }

  private func rows(_ section: String) -> [StoredRow] { explanation.rows(section).map { StoredRow(row: $0.stored) } }

  // MARK: What was asked for

  private var token: [String] { explanation.authenticity.map { [$0.text(explanation.subject.id)] } ?? [] }

  private var days: (from: String, until: String) {
    (
      Timestamp(milliseconds: explanation.searched.from).utcText,
      Timestamp(milliseconds: explanation.searched.to).utcText
    )
  }

  private var unknown: [String] {
    switch explanation.subject {
    case .token(let id, _): ["Nothing is known of serve \(id), which the token names."]
    case .id(let id):
      [
        "Nothing is known of \(id): it is no serve id, and no request id decided from \(days.from) to \(days.until).",
        "Where the client's clock was wrong, name the day with --day (day= in the console's API).",
      ]
    }
  }

  private var rejected: [String] { explanation.rejected.map(\.text) }

  private var missing: [String] {
    guard explanation.rejected.isEmpty else { return [] }
    return [
      "No rejected record of these days names it, among the \(TextTable.grouped(Int64(FindRejectedTraces.searchedMaximum))) "
        + "of each service that were looked through. One that cannot be read, or whose bytes were too many to keep, "
        + "names nothing: 'handbill rejected list --since \(days.from) --until \(days.until)' shows all.",
      "What the topic never held, and what is older than the services keep, has left nothing here.",
    ]
  }

  // MARK: The request

  private var request: [String] {
    guard let row = rows("decision").first else {
      return ["No decision of it is known: there was none, or it is older than what is kept."]
    }
    let reason = StoredMeaning.decisionReason(row.number("reason"))
    var lines = [
      "Request \(row.word("request_id")) came at \(row.time("arrival")) and was to be answered by "
        + "\(row.time("deadline")): app \(row.word("app")), placement \(row.word("placement")), country "
        + "\(row.word("country")), \(StoredMeaning.device(row.number("device")).words), "
        + "\(StoredMeaning.size(row.number("size")).words), \(row.flag("is_test") ? "test" : "live") traffic.",
      "It was decided at \(explanation.serveID?.timestamp.utcText ?? "–"), as \(row.word("serve_id")): \(reason.text).",
    ]
    if let sight = StoredSight(row.row) { lines.append(sight.text) }
    if let detail = row.text("detail") { lines.append("More of it: \(detail).") }
    lines += unregistered
    lines += explanation.isServed ? served(row) : refused(row)
    return lines + candidates(row)
  }

  private var unregistered: [String] {
    explanation.unregisteredApps.map {
      "App \($0) is not registered in the catalogue: 'handbill catalog list --kind app' shows those that are."
    }
  }

  private func served(_ row: StoredRow) -> [String] {
    [
      "The ad is \(row.word("ad")) of campaign \(row.word("campaign")) of advertiser \(row.word("advertiser")); when "
        + "tapped it \(StoredMeaning.action(row.number("action")).words), for \(row.word("destination")).",
      "An impression costs \(row.money("impression_price")), a click \(row.money("click_price")); "
        + "\(Hundredths(Int128(row.number("share_basis_points")))) % goes to developer \(row.word("developer")) (B2). "
        + "Whatever is edited later, these terms stay (I2).",
      "It counts when seen until \(row.time("expires_at")).",
    ]
  }

  private func refused(_ row: StoredRow) -> [String] {
    guard row.has("error") else { return [] }
    let error = StoredMeaning.error(row.number("error"))
    // Only the catalogue knows whether such an app has a topic for answers.
    let isAppUnsure = ["unknownKey", "keyOfAnotherApp", "keyNotYetKnown", "unknownApp"]
      .contains(StoredMeaning.decisionReason(row.number("reason")).name)
    return [
      "Its answer is \(error.text)\(isAppUnsure ? ", where the app that it names is registered; else there is none" : "")."
    ]
  }

  private func candidates(_ row: StoredRow) -> [String] {
    let considered = row.number("candidates")
    guard considered > 0 else { return [] }
    let excluded = zip(row.list("excluded_reasons"), row.list("excluded_counts")).map { reason, ads in
      "\(ads.integerValue ?? 0) (\(StoredMeaning.exclusion(reason.integerValue ?? 0).text))"
    }
    return auction(row) + [
      "Ads looked at: \(considered); outbid: \(row.number("outbid"))"
        + (excluded.isEmpty ? "." : "; not eligible: \(excluded.joined(separator: ", ")).")
    ]
  }

  /// What went into the auction besides the request; nothing in rows of before it was stored.
  private func auction(_ row: StoredRow) -> [String] {
    guard row.has("paid_ads") else { return [] }
    let catalog = row.has("catalog_change") ? "after its change \(row.number("catalog_change"))" : "while it changed"
    let sizes = StoredMeaning.requiredSizes(row.number("required_sizes")).joined(separator: ", ")
    let segments = row.list("segments").compactMap(\.textValue).joined(separator: ", ")
    return [
      "The auction was held on the catalogue \(catalog); \(StoredMeaning.paidAds(row.number("paid_ads")).words); "
        + "required sizes: \(sizes.isEmpty ? "none" : sizes); segments: \(segments.isEmpty ? "none" : segments)."
    ] + standing
  }

  /// Why paid ads were withheld, with the figures that were in force (A7).
  private var standing: [String] {
    rows("standing").map { row in
      "The app was offered paid ads for \(Hundredths(Int128(row.number("offer_parts_per_million") / 100))) % of its requests, "
        + "since \(row.time("since")): of \(TextTable.grouped(row.number("tapped"))) ads that were tapped it had stopped the "
        + "action of \(TextTable.grouped(row.number("stopped"))) (A7)."
    }
  }

  // MARK: What devices told

  private var impression: [String] {
    guard explanation.isServed || !rows("delivery").isEmpty else { return [] }
    let seen = rows("impression").map { "It was seen at \($0.time("event_time")), told at \($0.time("arrival"))." }
    return (seen.isEmpty ? ["No impression of it was accepted."] : seen)
      + rows("delivery").map { row in
        let error = row.has("error") ? " with \(StoredMeaning.error(row.number("error")).text)" : ""
        return "The device told of \(row.time("event_time")): "
          + "\(StoredMeaning.deliveryKind(row.number("kind")).text)\(error)."
      }
  }

  private var taps: [String] {
    let lines =
      rows("clicks").map { row in
        "It was tapped at \(row.time("event_time")), told at \(row.time("arrival")): "
          + "\(StoredMeaning.verdict(row.number("verdict")).text)."
          + (row.flag("was_parked") ? " It waited for the view, or for an earlier tap of its client, to be read." : "")
      }
      + rows("parkedClicks").map { row in
        "A tap of \(row.time("event_time")) has no verdict yet: it waits for the impression (M5), or for an earlier tap of "
          + "the same client."
      }
      + rows("stoppedActions").map { row in
        "Its action began at \(row.time("event_time")), and \(StoredMeaning.stoppedKind(row.number("kind")).text)."
      }
      + rows("conversions").map { row in
        "App \(row.word("app")) told of \(row.time("event_time")): \(StoredMeaning.conversionKind(row.number("kind")).text)"
          + (row.number("value") > 0 ? ", worth \(row.money("value")) to its advertiser." : ".")
      }
    return lines.isEmpty && explanation.isServed ? ["No tap on it was accepted."] : lines
  }

  private var told: [String] {
    (rows("decision").isEmpty ? unregistered : [])
      + rows("toldErrors").map { row in
        "Of request \(row.word("request_id")) the device told \(StoredMeaning.error(row.number("error")).text) at "
          + "\(row.time("arrival")): app \(row.word("app")), placement \(row.word("placement"))."
      }
  }

  // MARK: Money

  private var money: [String] {
    var lines = rows("charges").map { row in
      let kind = StoredMeaning.chargeKind(row.number("kind")).words
      let parts =
        row.number("amount") > 0 || row.number("developer_amount") > 0
        ? ": the advertiser pays \(row.money("amount")), the developer gets \(row.money("developer_amount")), the "
          + "network \(row.money("network_amount"))" : ""
      return
        "Of the price of the \(kind), \(row.money("price")): \(StoredMeaning.fate(row.number("fate")).text)\(parts)."
    }
    lines += rows("suspense").map { row in
      let kind = StoredMeaning.chargeKind(row.number("kind")).words
      let voided =
        row.has("voided_at")
        ? "A person voided it at \(row.time("voided_at")): \(row.word("void_reason"))."
        : "It waits for a person: see handbill suspense."
      return "The \(kind) at \(row.time("event_time")) could not be charged: \(row.word("reason")). \(voided)"
    }
    lines += rows("allotment").map { row in
      "It was sold from allotment \(row.number("id")) of campaign \(row.word("campaign")), granted \(row.money("granted")) "
        + "at \(row.time("granted_at")), charged \(row.money("charged")) so far: "
        + "\(StoredMeaning.allotmentState(row.number("state")).words)."
    }
    return lines + journals
  }

  /// A journal holds all charges of its batch, others' too.
  private var journals: [String] {
    let postings = rows("postings")
    guard !postings.isEmpty else { return [] }
    let entries = postings.map { row in
      row.number("debit") > 0
        ? "\(row.word("account")) is debited \(row.money("debit"))"
        : "\(row.word("account")) is credited \(row.money("credit"))"
    }
    return [
      "In the journals that hold its charges, with others of the same batches: \(entries.joined(separator: "; "))."
    ]
  }

  // MARK: Where it stands

  private var leftOut: [String] {
    explanation.cutLists.map { section in
      "Told are the first \(TextTable.grouped(Int64(section.rows.items.count))) of its "
        + "\(TextTable.grouped(section.rows.total)) \(section.noun)."
    }
  }

  private var batches: [String] {
    rows("batches").map { row in
      let inputs = row.list("inputs").map { input in
        "\(input["topic"]?.textValue ?? "") \(input["firstOffset"]?.integerValue ?? 0) to "
          + "\((input["nextOffset"]?.integerValue ?? 1) - 1)"
      }
      return "\(row.word("service")) committed its batch \(row.number("batch_number")) of partition "
        + "\(row.number("partition")) at \(row.time("committed_at"))"
        + (inputs.isEmpty ? "." : ", of the offsets \(inputs.joined(separator: ", ")).")
    }
  }

  private var others: [String] {
    explanation.otherServeIDs.map { "The same request id was decided at \($0.timestamp.utcText), too: \($0)." }
  }
}

/// Reads the columns of a stored row for sentences; what is absent shows as a dash or counts as 0.
private struct StoredRow {
  let row: JSONValue

  func has(_ column: String) -> Bool { row[column] != nil && row[column] != .null }
  func text(_ column: String) -> String? { row[column]?.textValue.flatMap { $0.isEmpty ? nil : $0 } }
  func word(_ column: String) -> String { text(column) ?? "–" }
  func flag(_ column: String) -> Bool { row[column] == true }
  func list(_ column: String) -> [JSONValue] { row[column]?.elements ?? [] }

  /// Sums of money come as text.
  func number(_ column: String) -> Int64 {
    row[column]?.integerValue ?? text(column).flatMap { Int64($0) } ?? 0
  }

  func time(_ column: String) -> String { text(column).map(ServeFields.time) ?? "–" }

  func money(_ column: String) -> String {
    let nanos = row[column]?.integerValue.map { Int128($0) } ?? text(column).flatMap { Int128($0) } ?? 0
    return "\(word("currency")) \(MoneyText.format(nanos))"
  }
}
