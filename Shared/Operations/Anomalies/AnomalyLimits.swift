package import AdCore
package import JSON
package import Runtime

extension AnomalyKind {
  /// The share in basis points above which an hour is flagged, where nothing else is configured.
  var limitDefault: Int {
    switch self {
    case .clickRate: 2_500
    case .repeats, .limited: 2_000
    case .tooEarly: 1_000
    case .accidental: 5_000
    case .impossible: 100
    }
  }

  private var key: ConfigurationKey<Int> {
    let (name, help) =
      switch self {
      case .clickRate: ("CLICK_RATE", "clicks of impressions")
      case .repeats: ("REPEATS", "further taps on the same ad, of all taps")
      case .tooEarly: ("TOO_EARLY", "taps less than 100 ms after the impression, of all taps")
      case .accidental: ("ACCIDENTAL", "accidental taps, of all taps")
      case .limited: ("LIMITED", "taps beyond the client's click limits, of all taps")
      case .impossible: ("IMPOSSIBLE", "views and taps that cannot be, of all that were told")
      }
    return .integer(
      "HANDBILL_ANOMALY_\(name)", in: 0...10_000, default: limitDefault,
      help: "An app's hour is flagged when more than so many basis points are \(help).")
  }

  /// The limits as configuration.
  static let keys = Dictionary(uniqueKeysWithValues: allCases.map { ($0, $0.key) })
}

/// When an app's hour is flagged.
package struct AnomalyLimits: Hashable, Sendable {
  /// In basis points; an hour with more is flagged.
  package var basisPoints: [AnomalyKind: Int]
  /// An hour with fewer events says nothing.
  package var eventsMinimum: Int

  package init(
    basisPoints: [AnomalyKind: Int] = Dictionary(
      uniqueKeysWithValues: AnomalyKind.allCases.map { ($0, $0.limitDefault) }),
    eventsMinimum: Int = 100
  ) {
    self.basisPoints = basisPoints
    self.eventsMinimum = eventsMinimum
  }

  private static let minimum = ConfigurationKey<Int>.integer(
    "HANDBILL_ANOMALY_EVENTS", in: 1...1_000_000_000, default: 100,
    help: "With fewer impressions or taps than this an app's hour is not flagged.")

  /// The settings of ``AnomalyWatch``.
  package static let declarations =
    [minimum.declaration] + AnomalyKind.allCases.compactMap { AnomalyKind.keys[$0]?.declaration }

  package init(reader: inout ConfigurationReader) {
    self.init(eventsMinimum: reader.value(Self.minimum))
    for (kind, key) in AnomalyKind.keys { basisPoints[kind] = reader.value(key) }
  }
}

/// A flag: an app's hour in which a share went beyond its limit.
package struct Anomaly: Hashable, Sendable {
  package var app: String
  package var hour: Timestamp
  /// The name of an ``AnomalyKind``.
  package var kind: String
  package var events: Int64
  package var ofEvents: Int64
  /// In percent, two decimals.
  package var percent: String
  package var limitPercent: String
  package var foundAt: Timestamp

  package var json: JSONValue {
    [
      "app": .text(app), "hour": .text(hour.utcText), "kind": .text(kind), "events": .integer(events),
      "ofEvents": .integer(ofEvents), "percent": .text(percent), "limitPercent": .text(limitPercent),
      "foundAt": .text(foundAt.utcText),
    ]
  }

  /// A table of flags for a terminal.
  package static func table(_ flags: CutList<Anomaly>) -> String {
    guard !flags.items.isEmpty else { return "Nothing is flagged.\n" }
    var table = TextTable(
      ["hour", "app", "what", "events", "of", "share", "limit", "found"], rightAligned: [3, 4, 5, 6])
    table.rows = flags.items.map { flag in
      [
        flag.hour.utcText, flag.app, flag.kind, TextTable.grouped(flag.events), TextTable.grouped(flag.ofEvents),
        "\(flag.percent) %", "\(flag.limitPercent) %", flag.foundAt.utcText,
      ]
    }
    return table.text + (flags.cutNote("flags", limit: ReportQuery.rowsLimit).map { $0 + "\n" } ?? "")
  }
}
