/// A set of ad sizes as one number: the bit of each size is that of its number.
public struct SizeBits: Hashable, Sendable {
  public let bits: Int32

  public init(bits: Int32) { self.bits = bits }

  public init(_ sizes: some Sequence<AdSize>) {
    bits = sizes.reduce(0) { $0 | 1 << Int32($1.rawValue) }
  }

  /// In the order of their numbers; bits of no size are none.
  public var sizes: [AdSize] { AdSize.allCases.filter { bits >> Int32($0.rawValue) & 1 == 1 } }
}
