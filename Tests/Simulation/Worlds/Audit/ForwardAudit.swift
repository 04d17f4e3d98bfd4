import AdCore

/// What lay in the wrong partition: sent on, and no more of the same than is allowed. How often is known as far as the
/// owner of the partition remembers, so more may be sent on where it changed.
struct ForwardAudit {
  private struct Thing: Hashable {
    let id: UUIDv7
    let kind: UInt8
  }

  private var forwarded: [Thing: Int] = [:]

  /// The outcome that is due where this one was found.
  mutating func due(_ id: UUIDv7, kind: UInt8, found: UInt8, in world: World) -> UInt8 {
    let thing = Thing(id: id, kind: kind)
    if found == 87, forwarded[thing, default: 0] >= 4 {
      world.coverage.note(.forwardedTooOften)
      return 87
    }
    forwarded[thing, default: 0] += 1
    return 3
  }
}
