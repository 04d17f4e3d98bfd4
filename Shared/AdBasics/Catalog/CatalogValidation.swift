extension Advertiser {
  func faults() -> [CatalogFault] {
    FaultList { list in
      list.checkName(name)
      list.checkBudget(accountFunding, "accountFunding")
      list.require(
        BudgetCalendar(timeZone: timeZone) != nil, "timeZone",
        "“\(timeZone.prefix(80))” is not an IANA time zone: give one such as Europe/Berlin")
    }.faults
  }
}

extension Campaign {
  func faults() -> [CatalogFault] {
    FaultList { list in
      list.checkName(name)
      list.checkPrice(impressionPrice, "impressionPrice")
      list.checkPrice(clickPrice, "clickPrice")
      checkPricesOfKind(&list)
      list.checkBudget(totalBudget, "totalBudget")
      if let dailyBudget { list.checkBudget(dailyBudget, "dailyBudget") }
      list.require(
        flightStart < flightEnd, "flightEnd",
        "it is \(flightEnd.utcText), the start \(flightStart.utcText): the flight must end after its start")
      list.checkCount(targeting.countries.count, "targeting.countries")
      list.checkTerms(targeting.appCategories, "targeting.appCategories")
      list.checkTerms(targeting.segments, "targeting.segments")
    }.faults
  }

  /// Budgets from which nothing can ever be sold: an allotment has to hold an ad's full price. No fault of the record's
  /// own, for what was written with one must still be read.
  package func scarceBudgets() -> [CatalogFault] {
    guard kind != .house, let fullPrice else { return [] }
    return FaultList { list in
      for (field, budget) in [("totalBudget", totalBudget), ("dailyBudget", dailyBudget ?? 0)] {
        list.require(
          budget <= 0 || budget >= Int128(fullPrice.value), field,
          "it is \(MoneyText.format(budget)), and an impression with its click costs \(MoneyText.format(fullPrice)): nothing "
            + "could be sold (B4); give at least that")
      }
    }.faults
  }

  private func checkPricesOfKind(_ list: inout FaultList) {
    switch kind {
    case .brand:
      list.require(
        impressionPrice > .zero || clickPrice > .zero, "impressionPrice",
        "a brand campaign pays (B1): set a price per impression, per click, or both; for ads that pay nothing make it house"
      )
    case .developer:
      list.require(
        impressionPrice <= .zero, "impressionPrice", "a developer campaign pays for clicks only (B1): set it to 0")
      list.require(clickPrice > .zero, "clickPrice", "a developer campaign pays for clicks (B1): set it above 0")
    case .house:
      list.require(impressionPrice <= .zero, "impressionPrice", "a house campaign pays nothing: set it to 0")
      list.require(clickPrice <= .zero, "clickPrice", "a house campaign pays nothing: set it to 0")
    }
  }
}

extension Ad {
  /// What is wrong with the ad by itself.
  func faults() -> [CatalogFault] {
    FaultList { list in
      list.require(!images.isEmpty, "images", "give an image for at least one size (S4)")
      for (size, url) in images.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
        list.require(
          ImageReference(url).isSound, "images.\(size.name)",
          "“\(url.prefix(80))” is not an http or https URL, nor a path, of printable ASCII up to \(URLText.bytesMaximum) bytes, "
            + "with nothing or #sha256=HEX&bytes=COUNT at its end")
      }
      checkDestination(&list)
      list.require(
        CatalogLimits.lifetimeMilliseconds.contains(lifetimeMilliseconds), "lifetimeMilliseconds",
        "it is \(lifetimeMilliseconds): give 300000 to 900000, which is 5 to 15 minutes (D5)")
      list.checkTerms(categories, "categories")
      list.checkTerms(keywords, "keywords")
    }.faults
  }

  /// What does not agree with the ad's campaign: brand ads cover, developer ads leave for the store (D11).
  public func faults(in campaign: Campaign) -> [CatalogFault] {
    FaultList { list in
      list.require(
        self.campaign == campaign.id, "campaign", "the ad names \(self.campaign), but this is \(campaign.id)")
      switch campaign.kind {
      case .brand:
        list.require(action.kind == .cover, "action.kind", "an ad of a brand campaign covers (D11): set it to cover")
      case .developer:
        list.require(
          action.kind == .leave, "action.kind",
          "an ad of a developer campaign leads to the store (D11): set it to leave"
        )
      case .house: break
      }
    }.faults
  }

  private func checkDestination(_ list: inout FaultList) {
    checkMacro(&list)
    let shown = action.destination.prefix(80)
    switch action.kind {
    case .cover:
      list.require(
        URLText.isWeb(action.destination), "action.destination",
        "“\(shown)” is not an http or https URL, which an action that covers the screen needs (D11)")
    case .leave:
      list.require(
        URLText.isAbsolute(action.destination), "action.destination",
        "“\(shown)” is not an absolute URL with a host, such as https://apps.example/id1 (D11)")
    }
  }
}

extension App {
  /// The id that no app may have: the topic of its answers would be the edge's.
  package static let reservedID = "edge"

  func faults() -> [CatalogFault] {
    FaultList { list in
      list.checkName(name)
      list.require(
        id.text != App.reservedID, "id", "“\(App.reservedID)” is the edge's own name for answers: give another id")
      list.require(
        App.isBundleID(bundleID), "bundleID",
        "“\(bundleID.prefix(80))” must be 1 to 155 letters, digits, hyphens and dots, such as com.example.weather")
      list.require(
        isUnder17 == nil || isAgreementSigned, "isUnder17",
        "the agreement comes before the primary audience (A9): sign it, or leave the audience unanswered")
      list.require(
        !areAdsEnabled || isAgreementSigned && isUnder17 != nil, "areAdsEnabled",
        "the agreement and the primary audience come before enabling ads (A9): take those steps, or leave ads disabled")
      list.require(
        shareBasisPoints <= RevenueShare.whole, "shareBasisPoints",
        "it is \(shareBasisPoints): give 0 to 10000 basis points (B2)")
      list.checkTerms(categories, "categories")
      list.checkCount(exclusions.advertisers.count, "exclusions.advertisers")
      list.checkTerms(exclusions.categories, "exclusions.categories")
      list.checkTerms(exclusions.keywords, "exclusions.keywords")
      list.checkCount(exclusions.hosts.count, "exclusions.hosts")
      for host in exclusions.hosts.sorted() {
        list.require(
          URLText.isHost(host), "exclusions.hosts",
          "“\(host.prefix(80))” is not a host in lower case: give it without scheme, port and path, such as example.com"
        )
      }
    }.faults
  }

  private static func isBundleID(_ text: String) -> Bool {
    (1...155).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
          true
        default: false
        }
      }
  }
}

extension AppKey {
  func faults() -> [CatalogFault] {
    FaultList { list in
      list.require(keyHash.count == 32, "keyHash", "it has \(keyHash.count) bytes: a SHA-256 has 32")
    }.faults
  }
}

extension NetworkSettings {
  func faults() -> [CatalogFault] {
    FaultList { list in
      list.require(!countries.isEmpty, "countries", "list at least one country: elsewhere no ad is served (A5)")
      list.require(
        testFillBasisPoints <= 10_000, "testFillBasisPoints", "it is \(testFillBasisPoints): give 0 to 10000 (A2)")
      list.require(
        testErrorBasisPoints <= 10_000, "testErrorBasisPoints", "it is \(testErrorBasisPoints): give 0 to 10000 (A2)")
      list.require(
        Int(testFillBasisPoints) + Int(testErrorBasisPoints) <= 10_000, "testErrorBasisPoints",
        "together with testFillBasisPoints it is more than 10000: lower one of them (A2)")
      standing.faults(&list)
      CurrencyRate.faults(currencyRates, &list)
    }.faults
  }
}
