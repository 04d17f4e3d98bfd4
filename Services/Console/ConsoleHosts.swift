internal import HTTP
internal import Runtime

/// By which names the console may be asked for. A page of somebody else's, open in a browser that reaches the console, can
/// let its own name lead here (DNS rebinding) and would then read all figures. So a name is answered if the settings name
/// it, or if it can lead nowhere else: an address, or a name without a dot such as `localhost` or a container's.
struct ConsoleHosts: Sendable {
  static let names = ConfigurationKey<[String]>(
    "HANDBILL_CONSOLE_HOSTS", kind: "list of names, divided by commas", neutral: [], default: [], defaultText: "none",
    help:
      "Under which names with a dot, such as ads.example.com, browsers and proxies may ask for pages and API; addresses "
      + "and names without a dot always may."
  ) { text in
    let names = text.split(separator: ",").map { $0.filter { $0 != " " }.lowercased() }
    return names.count <= 100 && names.allSatisfy { ConsoleHosts.name(of: $0) == $0 }
      ? .success(names)
      : .failure(ConfigurationValueError("must be names such as ads.example.com, without ports, divided by commas"))
  }

  private let names: Set<String>

  init(_ names: [String]) { self.names = Set(names) }

  /// - Throws: ``HTTPProblem`` 421 where the request names a host that is none of ours. No browser leaves it out.
  func check(_ request: HTTPRequest) throws(HTTPProblem) {
    guard let host = request.header("host"), !isOurs(Self.name(of: host.lowercased())) else { return }
    throw HTTPProblem(
      421, "This console is not asked for by that name. Use its address, or name it in HANDBILL_CONSOLE_HOSTS.")
  }

  /// What stands before the port, without the dot that may end a whole name.
  private static func name(of host: String) -> Substring {
    if host.hasPrefix("[") { return host.prefix { $0 != "]" } }
    let name = host.prefix { $0 != ":" }
    return name.hasSuffix(".") ? name.dropLast() : name
  }

  private func isOurs(_ name: Substring) -> Bool {
    // No name of the internet ends with a number, and none has a bracket.
    guard !name.hasPrefix("["), let dot = name.lastIndex(of: "."), UInt8(name[dot...].dropFirst()) == nil else {
      return true
    }
    return names.contains(String(name))
  }
}
