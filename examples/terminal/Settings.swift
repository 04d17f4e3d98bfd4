import AdClient

/// How a sample reaches the network: `--edge URL --app ID --key KEY`; without them it has a network of test ads within
/// itself.
public struct Settings {
  public struct Mistake: Error, CustomStringConvertible {
    public let description: String
  }

  private var values: [String: String] = [:]

  public init(_ arguments: [String]) throws {
    var rest = arguments.dropFirst()
    while let name = rest.popFirst() {
      guard ["--edge", "--app", "--key", "--country"].contains(name), let value = rest.popFirst() else {
        throw Mistake(description: "usage: \(arguments.first ?? "") [--edge URL --app ID --key KEY] [--country CODE]")
      }
      values[name] = value
    }
  }

  /// The app's client.
  ///
  /// - Parameter app: what it is called where nobody says.
  public func client(app: String) throws -> AdNetworkClient {
    var options = AdClientOptions()
    options.device = .pad
    options.country = values["--country"].flatMap { Country($0) }
    return try AdNetworkClient(
      app: values["--app"] ?? app, key: values["--key"] ?? "no-key",
      via: values["--edge"].map { .edge($0) } ?? .inMemory(), options: options)
  }
}
