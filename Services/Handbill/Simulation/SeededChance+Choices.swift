internal import AdCore

extension SeededChance {
  /// True for so many of 10,000.
  mutating func chance(_ basisPoints: Int) -> Bool { Int.random(in: 0..<10_000, using: &self) < basisPoints }

  mutating func milliseconds(_ range: ClosedRange<Int64>) -> Int64 { Int64.random(in: range, using: &self) }

  /// One of `choices` by their weights; the first when all weigh nothing.
  mutating func choose<Value>(_ choices: [(value: Value, weight: Int)]) -> Value {
    let total = choices.reduce(0) { $0 + $1.weight }
    var rest = total > 0 ? Int.random(in: 0..<total, using: &self) : 0
    for choice in choices {
      if rest < choice.weight { return choice.value }
      rest -= choice.weight
    }
    return choices[0].value
  }

  /// Lower-case hexadecimal digits.
  mutating func hexadecimal(digits: Int) -> String {
    String((0..<digits).map { _ in "0123456789abcdef".randomElement(using: &self) ?? "0" })
  }
}
