import AdCore

/// The rules by which an ad may be shown in an app, as `docs/rules.md` has them (the hash of A7, of which it has nothing, as ad
/// selection has it): written once more for the auditor, which must not find right what ad selection gets wrong.
struct AdRules {
  /// A rule that speaks against an ad.
  enum Objection {
    case paused, outsideFlight, imageMissing, audience, target, exclusion
  }

  let app: App
  let country: Country
  let device: Device
  let requiredSizes: [AdSize]
  let segments: [String]
  let now: Timestamp

  func objections(to ad: Ad, of campaign: Campaign) -> Set<Objection> {
    var objections: Set<Objection> = []
    if ad.isPaused || campaign.isPaused { objections.insert(.paused) }
    // B4: the flight's end is no part of it.
    if now < campaign.flightStart || campaign.flightEnd <= now { objections.insert(.outsideFlight) }
    // S4: an image for every size that the request requires.
    for size in requiredSizes where ad.images[size] == nil { objections.insert(.imageMissing) }
    // A4. Nobody gets an ad before it is answered (A9); were it not, fewer ads would do.
    if app.isUnder17 != false, !campaign.targeting.allowsUnder17 { objections.insert(.audience) }
    if !isMeant(campaign.targeting) { objections.insert(.target) }
    if isExcluded(ad, of: campaign.advertiser) { objections.insert(.exclusion) }
    return objections
  }

  /// A6: whom a campaign is for; what it does not name is free.
  private func isMeant(_ targeting: Targeting) -> Bool {
    func admits<Value>(_ wanted: Set<Value>, _ matches: (Value) -> Bool) -> Bool {
      wanted.isEmpty || wanted.contains(where: matches)
    }
    return admits(targeting.countries) { $0 == country } && admits(targeting.devices) { $0 == device }
      && (targeting.sizes.isEmpty || requiredSizes.filter { !targeting.sizes.contains($0) }.isEmpty)
      && admits(targeting.appCategories) { app.categories.contains($0) }
      && admits(targeting.segments) { segments.contains($0) }
  }

  /// A6: what an app does not show.
  private func isExcluded(_ ad: Ad, of advertiser: AdvertiserID) -> Bool {
    let excluded = app.exclusions
    // Destinations of worlds are plain: a scheme, a host and a path.
    let host = ad.action.destination.split(separator: "/", maxSplits: 2).dropFirst().first.map { "." + $0.lowercased() }
    return excluded.advertisers.contains(advertiser)
      || ad.categories.contains { excluded.categories.contains($0) }
      || ad.keywords.contains { excluded.keywords.contains($0) }
      || excluded.hosts.contains { host?.hasSuffix("." + $0) ?? false }
  }

  /// A7: whether a request gets no paid ad in an app that is offered so much; which do follows from their ids alone.
  static func isWithheld(_ requestID: UUIDv7, offer partsPerMillion: Int64, seed: UInt64) -> Bool {
    let step: UInt64 = 0x9E37_79B9_7F4A_7C15
    // The last steps of SplitMix64.
    func mix(_ value: UInt64) -> UInt64 {
      let first = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
      let second = (first ^ first >> 27) &* 0x94D0_49BB_1331_11EB
      return second ^ second >> 31
    }
    var hash = mix(seed ^ step)
    for word in [7, requestID.high, requestID.low] { hash = mix(hash ^ word) &+ step }
    return Int64(mix(hash) % 1_000_000) >= partsPerMillion
  }
}
