/// A parameter of an SQL function that takes rows of a composite type: one of them, or an array. A row's columns are
/// parameters of the statement, an array's are each a list.
struct RowsArgument: Sendable {
  let name: String
  let type: String
  let columns: Int
  let isOne: Bool

  init(_ name: String, of type: String, columns: Int, isOne: Bool = false) {
    self.name = name
    self.type = type
    self.columns = columns
    self.isOne = isOne
  }

  /// The arguments of a call, by name; the statement's parameters are all their columns, in their order.
  static func list(_ arguments: [RowsArgument]) -> String {
    var first = 1
    return arguments.map { argument in
      let numbers = (first..<first + argument.columns).map { "$\($0)" }.joined(separator: ", ")
      first += argument.columns
      let rows =
        argument.isOne
        ? "ROW(\(numbers))::billing.\(argument.type)"
        : "ARRAY(SELECT ROW(r.*)::billing.\(argument.type) FROM unnest(\(numbers)) AS r)"
      return "\(argument.name) => \(rows)"
    }.joined(separator: ", ")
  }
}
