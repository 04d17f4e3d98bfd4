internal import Foundation

/// What people know this process by.
enum ProcessName {
  /// Host and process id. Asked of the kernel alone: Foundation would look the host up in the network.
  static var own: String {
    var name = [CChar](repeating: 0, count: 256)
    let isKnown = gethostname(&name, name.count - 1) == 0
    let host = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    return "\(isKnown ? host : "?")/\(getpid())"
  }
}
