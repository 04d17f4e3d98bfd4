internal import Synchronization

/// Bytes that any number of responses send at once, without a copy for each. How many bytes there are of all that are kept
/// or still on their way can be asked, so that whoever makes them can hold a limit.
package final class SharedBytes: Sendable {
  /// How many bytes are alive, of all that share it.
  package final class Count: Sendable {
    private let bytes = Atomic(0)

    package init() {}

    package var value: Int { bytes.load(ordering: .relaxed) }

    fileprivate func add(_ count: Int) { bytes.add(count, ordering: .relaxed) }
  }

  package let count: Int
  private let counter: Count
  /// `@unchecked` holds because it is never written to after the initialiser, and is freed with the object that has it.
  @safe private struct Memory: @unchecked Sendable {
    let buffer: UnsafeMutableRawBufferPointer
  }

  private let memory: Memory

  package init(_ bytes: [UInt8], counter: Count) {
    count = bytes.count
    self.counter = counter
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
    unsafe buffer.copyBytes(from: bytes)
    memory = unsafe Memory(buffer: buffer)
    counter.add(count)
  }

  deinit {
    unsafe memory.buffer.deallocate()
    counter.add(-count)
  }

  @unsafe var start: UnsafeMutableRawPointer? { unsafe memory.buffer.baseAddress }

  /// A copy.
  var bytes: [UInt8] { unsafe Array(memory.buffer.prefix(count)) }
}
