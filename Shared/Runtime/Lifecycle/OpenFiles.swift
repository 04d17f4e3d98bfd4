internal import Glibc

/// How many files, sockets among them, the process may have open.
package enum OpenFiles {
  /// What a service has open besides its connections, about.
  package static let others = 128

  /// Takes as many as the system gives without asking.
  ///
  /// - Returns: how many that is.
  @discardableResult
  package static func raiseLimit() -> Int {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
    var wanted = limit
    wanted.rlim_cur = limit.rlim_max
    if unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &wanted) == 0 { limit = wanted }
    return Int(clamping: limit.rlim_cur)
  }
}
