/// An IP address, or a range of them that begins with the same bits. IPv4 is taken as the part of IPv6 that stands for it.
package struct NetworkAddress: Hashable, Sendable {
  package let bits: UInt128
  /// How many bits count, from 0 to 128.
  package let prefixLength: Int

  private static let ipv4Prefix: UInt128 = 0xFFFF << 32

  /// Reads `192.0.2.1`, `2001:db8::1`, and with a length behind a slash `192.0.2.0/24`; nil for anything else.
  package init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard let first = parts.first, parts.count <= 2, text.utf8.count <= 64 else { return nil }
    let isIPv4 = !first.contains(":")
    guard let bits = isIPv4 ? Self.ipv4(first) : Self.ipv6(first) else { return nil }
    var length = isIPv4 ? 32 : 128
    if parts.count == 2 {
      guard let given = Self.number(parts[1], maximum: length) else { return nil }
      length = given
    }
    self.init(bits: isIPv4 ? Self.ipv4Prefix | bits : bits, prefixLength: isIPv4 ? 96 + length : length)
  }

  private init(bits: UInt128, prefixLength: Int) {
    self.prefixLength = prefixLength
    self.bits = prefixLength == 0 ? 0 : (bits >> (128 - prefixLength)) << (128 - prefixLength)
  }

  /// What one customer of a provider usually has: an IPv4 address, or 64 bits of IPv6.
  package var household: NetworkAddress { prefix(ipv4: 32, ipv6: 64) }

  /// What many customers of a provider have in common: 24 bits of IPv4, or 48 of IPv6.
  package var network: NetworkAddress { prefix(ipv4: 24, ipv6: 48) }

  /// The range of this address that has so many bits; itself where it has no more.
  private func prefix(ipv4: Int, ipv6: Int) -> NetworkAddress {
    let isIPv4 = bits >> 32 == Self.ipv4Prefix >> 32
    return NetworkAddress(bits: bits, prefixLength: min(prefixLength, isIPv4 ? 96 + ipv4 : ipv6))
  }

  /// The first and the last address of the range.
  var range: ClosedRange<UInt128> {
    prefixLength == 128 ? bits...bits : bits...(bits | (UInt128.max >> prefixLength))
  }

  private static func number(_ text: some StringProtocol, maximum: Int) -> Int? {
    guard (1...3).contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int(text),
      number <= maximum
    else { return nil }
    return number
  }

  private static func ipv4(_ text: some StringProtocol) -> UInt128? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    var bits: UInt128 = 0
    for part in parts {
      guard let byte = number(part, maximum: 255) else { return nil }
      bits = bits << 8 | UInt128(byte)
    }
    return bits
  }

  private static func ipv6(_ text: some StringProtocol) -> UInt128? {
    let halves = String(text).components(ofDoubleColon: ())
    guard halves.count <= 2, let head = groups(halves[0]) else { return nil }
    guard halves.count == 2 else { return head.count == 8 ? joined(head) : nil }
    guard let tail = groups(halves[1]), head.count + tail.count <= 7 else { return nil }
    return joined(head + Array(repeating: 0, count: 8 - head.count - tail.count) + tail)
  }

  private static func joined(_ groups: [UInt16]) -> UInt128 { groups.reduce(0) { $0 << 16 | UInt128($1) } }

  /// Groups of four hexadecimal digits; the last two may be an IPv4 address.
  private static func groups(_ text: String) -> [UInt16]? {
    guard !text.isEmpty else { return [] }
    var groups: [UInt16] = []
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    for (index, part) in parts.enumerated() {
      if index == parts.count - 1, part.contains(".") {
        guard let bits = ipv4(part) else { return nil }
        groups += [UInt16(truncatingIfNeeded: bits >> 16), UInt16(truncatingIfNeeded: bits)]
      } else {
        guard (1...4).contains(part.utf8.count), part.allSatisfy(\.isHexDigit), let group = UInt16(part, radix: 16)
        else { return nil }
        groups.append(group)
      }
    }
    return groups.count <= 8 ? groups : nil
  }
}

extension String {
  /// The parts around `::`.
  fileprivate func components(ofDoubleColon _: Void) -> [String] {
    var parts = [""]
    var rest = self[...]
    while let first = rest.first {
      if rest.hasPrefix("::") {
        parts.append("")
        rest = rest.dropFirst(2)
      } else {
        parts[parts.count - 1].append(first)
        rest = rest.dropFirst()
      }
    }
    return parts
  }
}

/// Addresses of many ranges, found in as many steps as their number has bits.
package struct NetworkList: Sendable {
  /// The most ranges of a list.
  package static let rangesMaximum = 500_000

  /// Ascending, and apart from each other.
  private let ranges: [ClosedRange<UInt128>]

  package init(_ addresses: some Sequence<NetworkAddress>) {
    var merged: [ClosedRange<UInt128>] = []
    for range in addresses.map(\.range).sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = merged.last, range.lowerBound <= last.upperBound {
        merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        merged.append(range)
      }
    }
    ranges = merged
  }

  package func contains(_ address: NetworkAddress) -> Bool {
    var low = 0
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < address.bits { low = middle + 1 } else { high = middle }
    }
    return low < ranges.count && ranges[low].contains(address.bits)
  }
}
