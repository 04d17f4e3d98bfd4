package import AdBasics

/// Why a record's bytes are no value: one numbered reason, and sentences for people. Inside this module it travels as
/// a typed throw; whoever decodes gets it as the failure of a `Result`.
package struct Rejection: Error, Hashable, Sendable {
  /// That of the first mistake.
  package var reason: RejectionReason
  /// Which field the first mistake is in and what is wrong with it; never holds text that the peer sent.
  let sentence: String
  /// The record's further mistakes, which whoever wrote it is told at once.
  var further: [Rejection] = []

  package init(_ reason: RejectionReason, _ sentence: String) {
    self.reason = reason
    self.sentence = sentence
  }

  /// The sentences of all mistakes, as many as ``FieldLimits/mistakesBytesMaximum`` has room for.
  package var detail: String { detail(bytesMaximum: FieldLimits.mistakesBytesMaximum) }

  /// The sentences of all mistakes, as many as there is room for: at least the first, or its beginning. That there are
  /// more is said behind them.
  func detail(bytesMaximum: Int) -> String {
    var text = sentence.beginning(bytesMaximum: bytesMaximum)
    for mistake in further {
      let longer = text + "; " + mistake.sentence
      guard longer.utf8.count <= bytesMaximum else { return text + "; and more" }
      text = longer
    }
    return text
  }
}

extension String {
  /// As many of its first scalars as so many bytes have room for. What people take for one character may have any
  /// length.
  package func beginning(bytesMaximum: Int) -> String {
    guard utf8.count > bytesMaximum else { return self }
    var end = utf8.index(startIndex, offsetBy: max(0, bytesMaximum))
    while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
    return String(unicodeScalars[..<end])
  }
}
