internal import AdCore

/// Which candidates a request may be served (S4, A4 to A6, B4's flight), as far as that needs no allotment: what
/// ``AdEligibility`` says ad by ad, of all ads at once.
enum Eligibility {
  /// The candidates that keep every rule; the others are counted in `explanation` under the first rule they break, in the
  /// order of ``NoServeReason``.
  static func eligible(
    for request: AdEligibility.Request, in app: App, of snapshot: CatalogSnapshot, arePaidAdsSuspended: Bool,
    now: Timestamp, explanation: inout Explanation
  ) -> AdSet {
    let index = snapshot.index
    var left = index.all
    func keep(_ set: AdSet, else reason: NoServeReason) { explanation.add(left.formIntersection(set), reason) }
    func drop(_ set: AdSet, _ reason: NoServeReason) { explanation.add(left.subtract(set), reason) }

    if arePaidAdsSuspended { drop(index.paid, .paidAdsSuspended) }
    keep(index.running, else: .paused)
    let flights = index.flights(at: now)
    drop(flights.coming, .notYetStarted)
    drop(flights.over, .outsideFlight)
    keep(index.countries[request.country], else: .countryNotTargeted)
    keep(index.devices[request.device], else: .deviceNotTargeted)
    for size in request.requiredSizes { keep(index.images[size] ?? index.none, else: .imageMissing) }
    for size in request.requiredSizes { keep(index.sizes[size], else: .sizeNotTargeted) }
    // An unanswered audience is treated as the stricter one.
    if app.isUnder17 ?? true { keep(index.allowsUnder17, else: .audienceUnder17) }
    keep(index.appCategories.anyOf(app.categories), else: .appCategoryNotTargeted)
    keep(index.segments.anyOf(request.segments), else: .segmentNotTargeted)
    if let excluded = index.excluded[app.id] {
      drop(excluded.advertisers, .advertiserExcluded)
      drop(excluded.categories, .categoryExcluded)
      drop(excluded.keywords, .keywordExcluded)
      drop(excluded.hosts, .hostExcluded)
    }
    return left
  }
}
