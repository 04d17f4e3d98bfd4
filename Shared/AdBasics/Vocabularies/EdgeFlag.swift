/// The bits of what the edge saw of whoever asked (`edge_flags`). They are stored and never change meaning.
package enum EdgeFlag: UInt8, Sendable {
  /// The request came by the edge.
  case edge = 1
  /// Its country is the edge's word.
  case country = 2
  /// Its address is in a list of data centres.
  case dataCentre = 4
  /// Its address or its agent is in a list of bots.
  case bot = 8

  /// Above the flags stands the number of the ``AgentClass``.
  package static let agentShift: UInt8 = 4

  package func isSet(in flags: some FixedWidthInteger) -> Bool { flags & numericCast(rawValue) != 0 }
}
