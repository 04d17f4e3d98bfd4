package import AdCore
package import AdEvents
internal import Records

/// The MAC that came with a record, and what it is worth; and, under it, how far its writer's database had come. The one
/// place where MACs are checked.
package struct ReceivedMAC {
  /// Empty without one.
  private var bytes: [UInt8] = []
  /// The header ``TimelineMark`` as it came; nil without one.
  private var markBytes: [UInt8]?

  package init() {}

  /// Another record begins.
  package mutating func begin() {
    bytes.removeAll(keepingCapacity: true)
    markBytes = nil
  }

  /// How far the writer's database had come; worth nothing before ``rejection(by:topic:partition:key:value:)`` is nil.
  package var mark: TimelineMark? {
    markBytes.flatMap { String(validating: $0, as: UTF8.self) }.flatMap(TimelineMark.init)
  }

  /// Takes one of the record's headers; those of other names are ignored.
  package mutating func header(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?) {
    if let value, value.count <= TimelineMark.byteCountMaximum, name.equals(TimelineMark.headerName) {
      markBytes = Array(value)
      return
    }
    // A longer one is none.
    guard let value, value.count == MessageMAC.byteCount, name.equals(MessageMAC.headerName) else { return }
    bytes.removeAll(keepingCapacity: true)
    bytes.append(contentsOf: value)
  }

  /// Why the record is not to be believed; nil where it is genuine.
  package func rejection(
    by mac: MessageMAC, topic: String, partition: Int32, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?
  ) -> Rejection? {
    let authenticity = bytes.withUnsafeBytes { bytes in
      withOptionalBytes(markBytes) { mark in
        mac.authenticity(bytes, topic: topic, partition: partition, key: key, value: value, mark: mark)
      }
    }
    return switch authenticity {
    case .genuine: nil
    case .wrong: Rejection(.macWrong, "the record carries no MAC of the network's keys, or another record's")
    case .unknownKey: Rejection(.macKeyUnknown, "the key of the record's MAC is not in the ring")
    }
  }
}
