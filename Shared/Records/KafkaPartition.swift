/// Kafka's usual partitioner, so that a client which uses the client id (else the session id) as key gets the partition
/// right without knowing ours.
package enum KafkaPartition {
  /// The partition of `key` among `count` (1 or more): the positive part of its murmur2 hash, modulo `count`.
  package static func of(key: UnsafeRawBufferPointer, count: Int32) -> Int32 {
    precondition(count > 0, "A topic has at least one partition.")
    return (murmur2(key) & 0x7FFF_FFFF) % count
  }

  /// The same for a text: its UTF-8 bytes.
  package static func of(key: String, count: Int32) -> Int32 {
    var key = key
    return key.withUTF8 { of(key: UnsafeRawBufferPointer($0), count: count) }
  }

  /// The 32-bit MurmurHash2 with the seed and the signed arithmetic that Kafka's clients share.
  package static func murmur2(_ bytes: UnsafeRawBufferPointer) -> Int32 {
    let multiplier: UInt32 = 0x5BD1_E995
    var hash: UInt32 = 0x9747_B28C ^ UInt32(truncatingIfNeeded: bytes.count)
    let wholeWords = bytes.count / 4
    for index in 0..<wholeWords {
      var word = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self))
      word &*= multiplier
      word ^= word >> 24
      word &*= multiplier
      hash &*= multiplier
      hash ^= word
    }
    let rest = bytes[(wholeWords * 4)...]
    if !rest.isEmpty {
      for (index, byte) in rest.enumerated() { hash ^= UInt32(byte) << UInt32(8 * index) }
      hash &*= multiplier
    }
    hash ^= hash >> 13
    hash &*= multiplier
    hash ^= hash >> 15
    return Int32(bitPattern: hash)
  }
}
