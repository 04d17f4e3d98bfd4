package import AdCore

extension KeyRing {
  /// A ring of one key.
  package static var sample: KeyRing { sample(1) }

  /// A ring of these keys: equal numbers are equal secrets.
  package static func sample(_ ids: UInt16...) -> KeyRing {
    let keys = ids.map { id in
      try? KeyRing.Key(id: id, secret: Array(repeating: UInt8(truncatingIfNeeded: id), count: 32))
    }
    return known(try? KeyRing(keys: keys.map { known($0) }))
  }
}
