internal import EdgeCore
internal import Foundation

/// Lists of addresses and agents in files: one in each line, empty lines and what follows a `#` left out.
enum VisitorLists {
  private static let fileBytesMaximum = 32 << 20
  private static let agentsMaximum = 1_000
  private static let agentBytesMaximum = 200

  struct Mistake: Error, CustomStringConvertible {
    let description: String
  }

  /// A file of addresses alone.
  static func networks(_ path: String) throws -> NetworkList {
    let (addresses, others) = try read(path)
    if let other = others.first {
      throw Mistake(description: "\(path): “\(other.prefix(80))” is no address and no range")
    }
    return NetworkList(addresses)
  }

  /// A file of addresses, and of parts of agents, which come back in lower case, as UTF-8.
  static func bots(_ path: String) throws -> (addresses: NetworkList, agents: [[UInt8]]) {
    let (addresses, agents) = try read(path)
    guard agents.count <= agentsMaximum, agents.allSatisfy({ $0.utf8.count <= agentBytesMaximum }) else {
      throw Mistake(
        description:
          "\(path) has more than \(agentsMaximum) parts of agents, or one of more than \(agentBytesMaximum) bytes")
    }
    return (NetworkList(addresses), agents.map { Array($0.lowercased().utf8) })
  }

  private static func read(_ path: String) throws -> (addresses: [NetworkAddress], others: [String]) {
    let data = try Data(contentsOf: URL(filePath: path))
    guard data.count <= fileBytesMaximum else {
      throw Mistake(description: "\(path) has more than \(fileBytesMaximum) bytes")
    }
    var addresses: [NetworkAddress] = []
    var others: [String] = []
    for line in String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline) {
      let entry = line.prefix { $0 != "#" }.trimmingCharacters(in: .whitespaces)
      guard !entry.isEmpty else { continue }
      if let address = NetworkAddress(entry) { addresses.append(address) } else { others.append(entry) }
    }
    guard addresses.count <= NetworkList.rangesMaximum else {
      throw Mistake(description: "\(path) has more than \(NetworkList.rangesMaximum) addresses")
    }
    return (addresses, others)
  }
}
