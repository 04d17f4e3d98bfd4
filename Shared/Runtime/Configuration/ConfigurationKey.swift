/// One configuration key: its declaration, and how text becomes a value. Declare each key once, as a static constant.
package struct ConfigurationKey<Value: Sendable>: Sendable {
  package let declaration: ConfigurationDeclaration
  /// The value, or in words what would be right ("must be ..."); the text itself is not to be repeated in it.
  let parse: @Sendable (String) -> Result<Value, ConfigurationValueError>
  let defaultValue: Value?
  /// Stands in after a problem, so that reading goes on and finds the others; a program never runs with it.
  let neutral: Value
}

/// Says what a value must be; without the value, which may be secret.
package struct ConfigurationValueError: Error, Sendable {
  package let expectation: String

  package init(_ expectation: String) { self.expectation = expectation }
}

/// Limits of configuration values.
package enum ConfigurationLimits {
  /// The longest value, also from a secrets file, in bytes.
  package static let valueBytesMaximum = 64 * 1024
}

extension ConfigurationKey {
  /// Any type: `parse` answers with the value, or with what a value must be.
  package init(
    _ name: String, otherNames: [String] = [], kind: String, neutral: Value, default defaultValue: Value? = nil,
    defaultText: String? = nil, isSecret: Bool = false, help: String,
    parse: @escaping @Sendable (String) -> Result<Value, ConfigurationValueError>
  ) {
    declaration = ConfigurationDeclaration(
      name: name, otherNames: otherNames, kind: kind, defaultText: defaultText ?? defaultValue.map { "\($0)" },
      isRequired: defaultValue == nil, isSecret: isSecret, help: help)
    self.parse = parse
    self.defaultValue = defaultValue
    self.neutral = neutral
  }

  /// The same key, whose value may have several lines.
  package func severalLines() -> ConfigurationKey<Value> {
    var declaration = declaration
    declaration.hasLines = true
    return ConfigurationKey(declaration: declaration, parse: parse, defaultValue: defaultValue, neutral: neutral)
  }

  /// The same key, for which nil stands when nothing is set.
  package func optional() -> ConfigurationKey<Value?> {
    let parse = parse
    let base = declaration
    return ConfigurationKey<Value?>(
      declaration: ConfigurationDeclaration(
        name: base.name, otherNames: base.otherNames, kind: base.kind, defaultText: nil, isRequired: false,
        isSecret: base.isSecret, help: base.help, hasLines: base.hasLines),
      parse: { text in parse(text).map(Optional.some) }, defaultValue: .some(nil), neutral: nil)
  }
}

extension ConfigurationKey where Value == String {
  /// Text of 1 to `bytesMaximum` bytes without control characters.
  package static func text(
    _ name: String, otherNames: [String] = [], bytesMaximum: Int = 1_024, default defaultValue: String? = nil,
    isSecret: Bool = false, help: String
  ) -> Self {
    Self(
      name, otherNames: otherNames, kind: "text", neutral: "", default: defaultValue, isSecret: isSecret, help: help
    ) { text in
      text.isEmpty || text.utf8.count > bytesMaximum
        ? .failure(ConfigurationValueError("must have 1 to \(bytesMaximum) bytes")) : .success(text)
    }
  }

  /// A URL that begins with one of `schemes` and `://`. Kept as text: the library that uses it parses it.
  package static func url(
    _ name: String, otherNames: [String] = [], schemes: [String], default defaultValue: String? = nil,
    isSecret: Bool = false, help: String
  ) -> Self {
    let beginnings = schemes.map { $0 + "://" }
    let list = beginnings.joined(separator: " or ")
    return Self(
      name, otherNames: otherNames, kind: "URL \(list)", neutral: "", default: defaultValue, isSecret: isSecret,
      help: help
    ) { text in
      let isValid = beginnings.contains { text.hasPrefix($0) && text.utf8.count > $0.utf8.count }
      return isValid && !text.contains(" ")
        ? .success(text) : .failure(ConfigurationValueError("must be a URL that begins with \(list)"))
    }
  }

  /// A path of a file or folder; whether it exists is found out by whoever opens it.
  package static func path(_ name: String, default defaultValue: String? = nil, help: String) -> Self {
    Self(name, kind: "path", neutral: "", default: defaultValue, help: help) { text in
      text.isEmpty || text.utf8.count > 4_096
        ? .failure(ConfigurationValueError("must be a path of 1 to 4096 bytes")) : .success(text)
    }
  }
}

extension ConfigurationKey where Value == Int {
  /// A whole number in `range`, counted in `unit` (a plural noun, or empty).
  package static func integer(
    _ name: String, in range: ClosedRange<Int>, unit: String = "", default defaultValue: Int? = nil, help: String
  ) -> Self {
    let span = "\(range.lowerBound) to \(range.upperBound)" + (unit.isEmpty ? "" : " \(unit)")
    return Self(
      name, kind: "integer, \(span)", neutral: range.lowerBound, default: defaultValue, help: help
    ) { text in
      guard let value = Int(text), range.contains(value) else {
        return .failure(ConfigurationValueError("must be a whole number, \(span)"))
      }
      return .success(value)
    }
  }

  /// A duration in milliseconds: a bare number means milliseconds; `250ms`, `5s`, `2m`, `1h` and `1d` are understood.
  package static func milliseconds(
    _ name: String, in range: ClosedRange<Int>, default defaultValue: Int? = nil, help: String
  ) -> Self {
    let span = "\(range.lowerBound) to \(range.upperBound) ms"
    return Self(
      name, kind: "duration, \(span)", neutral: range.lowerBound, default: defaultValue,
      defaultText: defaultValue.map { "\($0) ms" }, help: help
    ) { text in
      guard let value = DurationText.milliseconds(text), range.contains(value) else {
        return .failure(ConfigurationValueError("must be a duration such as 1500, 250ms, 5s or 2m, from \(span)"))
      }
      return .success(value)
    }
  }
}

extension ConfigurationKey where Value == Bool {
  /// `true`, `yes`, `on`, `1` or `false`, `no`, `off`, `0`.
  package static func flag(_ name: String, default defaultValue: Bool? = nil, help: String) -> Self {
    Self(name, kind: "true|false", neutral: false, default: defaultValue, help: help) { text in
      switch text.lowercased() {
      case "true", "yes", "on", "1": .success(true)
      case "false", "no", "off", "0": .success(false)
      default: .failure(ConfigurationValueError("must be true or false"))
      }
    }
  }
}

/// Durations as a person writes them.
package enum DurationText {
  private static let units: [(suffix: String, milliseconds: Int)] = [
    ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
  ]

  /// `1500`, `250ms`, `5s`, `2m`, `1h`, `1d` in milliseconds; nil when `text` is nothing of that.
  package static func milliseconds(_ text: String) -> Int? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    guard let number = Int(digits) else { return nil }
    let suffix = text[digits.endIndex...]
    if suffix.isEmpty { return number }
    guard let unit = units.first(where: { $0.suffix == suffix }) else { return nil }
    let (product, overflow) = number.multipliedReportingOverflow(by: unit.milliseconds)
    return overflow ? nil : product
  }
}

extension StringProtocol {
  /// Without spaces, tabs and line ends at both sides.
  func trimmingSpaces() -> String {
    let end = lastIndex { !$0.isWhitespace }
    guard let start = firstIndex(where: { !$0.isWhitespace }), let end else { return "" }
    return String(self[start...end])
  }
}
