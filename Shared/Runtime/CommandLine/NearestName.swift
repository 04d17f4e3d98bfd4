/// Finds what a person probably meant.
package enum NearestName {
  private static let lengthMaximum = 64

  /// The candidate with the fewest changed letters, if there are few enough of them to be a slip.
  package static func find(_ name: String, among candidates: [String]) -> String? {
    guard name.count <= lengthMaximum else { return nil }
    let most = max(1, name.count / 3)
    let ranked = candidates.filter { $0.count <= lengthMaximum }.sorted()
      .map { (candidate: $0, distance: distance(name, $0)) }
    guard let best = ranked.min(by: { $0.distance < $1.distance }), best.distance <= most else { return nil }
    return best.candidate
  }

  /// The number of letters to insert, remove or change (Levenshtein's distance).
  package static func distance(_ left: String, _ right: String) -> Int {
    let right = Array(right)
    var row = Array(0...right.count)
    for (index, letter) in left.enumerated() {
      var diagonal = row[0]
      row[0] = index + 1
      for column in right.indices {
        let change = diagonal + (letter == right[column] ? 0 : 1)
        diagonal = row[column + 1]
        row[column + 1] = min(change, row[column] + 1, diagonal + 1)
      }
    }
    return row[right.count]
  }
}
