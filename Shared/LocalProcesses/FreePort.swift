internal import Glibc

/// Ports of the loopback interface that nobody listens on.
package enum FreePort {
  /// Below those that Linux gives to connections by itself: such a one could take the port before it is listened on, or
  /// while whoever listened is started again.
  private static let range: ClosedRange<UInt16> = 16_000...32_000
  /// So many are tried before the system is asked for any.
  private static let triesMaximum = 1_000

  /// Different ports that were free a moment ago; whoever binds one soon has good chances, but no promise.
  ///
  /// - Throws: `SupervisionError.system` when the system gives none.
  package static func find(count: Int) throws -> [Int] {
    var sockets: [Int32] = []
    defer { for descriptor in sockets { close(descriptor) } }
    return try (0..<count).map { _ in
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      guard descriptor >= 0 else { throw SupervisionError.system(operation: "making a socket", code: errno) }
      sockets.append(descriptor)
      for _ in 0..<triesMaximum {
        if let port = try? bindTo(.random(in: range), descriptor) { return port }
      }
      return try bindToAnyPort(descriptor)
    }
  }

  /// One port that was free a moment ago.
  package static func find() throws -> Int { try find(count: 1)[0] }

  /// Binds a socket to a free port and returns it.
  package static func bindToAnyPort(_ descriptor: Int32) throws -> Int { try bindTo(0, descriptor) }

  /// - Parameter port: 0 for any that is free.
  private static func bindTo(_ port: UInt16, _ descriptor: Int32) throws -> Int {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        let bound = unsafe bind(descriptor, generic, length)
        return unsafe bound == 0 ? getsockname(descriptor, generic, &length) : bound
      }
    }
    guard result == 0 else { throw SupervisionError.system(operation: "finding a free port", code: errno) }
    return Int(UInt16(bigEndian: address.sin_port))
  }
}
