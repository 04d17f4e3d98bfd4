package import AdCore
package import AdEvents

/// Where a record belongs by what we signed, and what it tells of.
package struct SignedPlace: Sendable {
  let partition: Int32
  let id: UUIDv7
  let kind: UInt8
  /// What names the partition, for people.
  let signed: String
  /// How often that may be told of the ad.
  let maximum: Int

  /// - Parameter kind: what is told of the ad, as the service numbers that.
  package init(_ terms: ServedTerms, kind: UInt8) {
    partition = terms.partition
    id = terms.serveID
    self.kind = kind
    signed = "token"
    maximum = ForwardLimit.ofOneMaximum
  }

  /// - Parameter maximum: how often that may be told of the ad.
  package init(_ reference: ClickReference, kind: UInt8, maximum: Int) {
    partition = reference.partition
    id = reference.serveID
    self.kind = kind
    signed = "click reference"
    self.maximum = maximum
  }
}

extension BatchDecision {
  /// Sends a record on, as it came, to the partition that was signed: that one decides, so nothing can loop.
  package mutating func forward(
    _ index: Int, of topic: Topic, to place: SignedPlace, in context: BatchContext, within limit: inout ForwardLimit
  ) {
    guard (0..<context.partitionCount).contains(place.partition) else {
      reject(
        index, .unknownPartition,
        "the \(place.signed) names partition \(place.partition), of \(context.partitionCount)")
      return
    }
    guard limit.admit(place.id, kind: place.kind, maximum: place.maximum) else {
      reject(
        index, .forwardedTooOften,
        "it was sent on \(place.maximum) times already: write to partition \(place.partition)")
      return
    }
    outcomes[index] = .forwarded
    forwards.append(Forward(record: index, topic: topic.name, partition: place.partition, headers: []))
  }
}
