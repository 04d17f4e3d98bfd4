package import AdCore
package import Pipeline

/// The placements that apps have lately named. A placement is nobody's but the app's own word, and every name is a row in
/// each minute's counts: so beyond the first ones of a day all others of the app are one, ``other``, in the decision and in
/// the token, and so in all that follows from it. Live and test traffic apart, since a test key is in more hands.
package struct PlacementNames: Sendable {
  /// What a placement beyond the first ones counts as.
  package static let other = PlacementID("other")
  /// The most names of one app, live or test, in a day (UTC) that a partition keeps apart.
  package static let ofAppMaximum = 100
  private struct Owner: Hashable, Sendable {
    let app: AppID
    let isTest: Bool
  }

  /// In days since 1970.
  private var day: Int64 = .min
  /// Hashes of app and name: should two be the same, one name more is kept apart.
  private var names: Set<Int> = []
  private var counts: [Owner: Int] = [:]
  /// Of names of all apps: the partitions of a process share it.
  private let quota: SharedBound.Quota

  package init(sharing bound: SharedBound = SelectionMemory().placements) { quota = bound.quota() }

  /// What the placement counts as.
  ///
  /// - Parameter app: that has its key.
  package mutating func counted(
    _ placement: PlacementID?, of app: AppID, isTest: Bool, at moment: Timestamp
  ) -> PlacementID? {
    guard let placement else { return nil }
    let current = moment.milliseconds / Windows.dayMilliseconds
    if current > day {
      (day, names, counts) = (current, [], [:])
      quota.give(quota.held)
    }
    let owner = Owner(app: app, isTest: isTest)
    var hasher = Hasher()
    hasher.combine(owner)
    hasher.combine(placement)
    let name = hasher.finalize()
    if names.contains(name) { return placement }
    guard counts[owner, default: 0] < Self.ofAppMaximum, quota.take(1) else { return Self.other }
    names.insert(name)
    counts[owner, default: 0] += 1
    return placement
  }
}

extension PlacementNames: Hashable {
  package static func == (left: Self, right: Self) -> Bool {
    (left.day, left.names, left.counts) == (right.day, right.names, right.counts)
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(names) }
}
