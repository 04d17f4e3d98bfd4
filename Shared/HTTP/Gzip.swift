internal import CZlib

/// gzip, within bounds.
package enum Gzip {
  /// Why bytes were not unpacked.
  package enum Mistake: Error, Hashable, Sendable {
    /// They are no gzip, or end too early, or something follows.
    case malformed
    /// They unpack to more than may be.
    case tooLarge
  }

  /// Unpacks one gzip member.
  ///
  /// - Parameter maximum: how many bytes may come out; whatever the input promises, no more memory is taken.
  package static func expand(_ packed: [UInt8], maximum: Int) throws(Mistake) -> [UInt8] {
    var stream = unsafe z_stream()
    guard unsafe hb_inflate_gzip_begin(&stream) == Z_OK else { throw .malformed }
    defer { unsafe inflateEnd(&stream) }
    var output = [UInt8](repeating: 0, count: min(maximum, max(1_024, packed.count * 4)) + 1)
    var count = 0
    while true {
      let result = unsafe step(&stream, packed, &output, &count)
      if result == Z_STREAM_END { break }
      guard result == Z_OK || result == Z_BUF_ERROR, unsafe stream.avail_out == 0 else { throw .malformed }
      guard count <= maximum else { throw .tooLarge }
      output.append(contentsOf: repeatElement(0, count: min(output.count, maximum + 1 - output.count)))
      guard count < output.count else { throw .tooLarge }
    }
    guard count <= maximum else { throw .tooLarge }
    guard unsafe Int(stream.total_in) == packed.count else { throw .malformed }
    output.removeLast(output.count - count)
    return output
  }

  /// Goes on where the stream stands, into what is left of `output`.
  private static func step(
    _ stream: inout z_stream, _ packed: [UInt8], _ output: inout [UInt8], _ count: inout Int
  ) -> Int32 {
    let done = unsafe Int(stream.total_in)
    let result = unsafe packed.withUnsafeBytes { input in
      unsafe output.withUnsafeMutableBytes { output in
        // zlib reads its input and never writes to it; its field is not const.
        unsafe stream.next_in = UnsafeMutablePointer(
          mutating: input.baseAddress?.advanced(by: done).assumingMemoryBound(to: UInt8.self))
        unsafe stream.avail_in = UInt32(input.count - done)
        unsafe stream.next_out = output.baseAddress?.advanced(by: count).assumingMemoryBound(to: UInt8.self)
        unsafe stream.avail_out = UInt32(output.count - count)
        return unsafe inflate(&stream, Z_NO_FLUSH)
      }
    }
    count = unsafe Int(stream.total_out)
    return result
  }
}
