internal import AdCore

/// What a worker knows to be stored under a hash of its content, and what the transaction at work names besides.
struct KnownContents<Content: FrozenContent> {
  struct Entry {
    let name: Int64
    /// The latest day for which it is noted, since 1970-01-01, in UTC.
    var day: Int32
  }

  private let maximum: Int
  private var known: [Content: Entry] = [:]
  private(set) var unknown: [Content: Entry] = [:]

  /// - Parameter maximum: the most that is remembered; then it begins anew.
  init(maximum: Int) { self.maximum = maximum }

  var count: Int { known.count }

  /// Another connection may lead to a database that lacks what was stored by the one before, as after a restored backup.
  mutating func forget() { known = [:] }

  /// Begins the rows of a transaction.
  mutating func begin() { unknown = [:] }

  mutating func name(of content: Content, day: Int32) -> Int64 {
    if let entry = known[content], entry.day >= day { return entry.name }
    let entry = unknown[content] ?? Entry(name: content.name, day: day)
    unknown[content] = Entry(name: entry.name, day: max(entry.day, day))
    return entry.name
  }

  /// What was not known is stored by now.
  mutating func stored() {
    if known.count + unknown.count > maximum { known = [:] }
    known.merge(unknown.prefix(maximum).map { ($0.key, $0.value) }) { $1 }
    unknown = [:]
  }
}
