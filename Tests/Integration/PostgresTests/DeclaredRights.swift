import Migrations

/// Who may do what with each table and view, said once more, apart from the SQL that gives the rights: a table that has no line
/// here, or other rights than here, makes `RightsTests` fail.
struct DeclaredRights {
  /// What one user may do with one relation.
  struct Rights: Hashable {
    var select = false
    var insert = false
    var delete = false
    /// The columns that may be changed.
    var update: Set<String> = []

    static let none = Rights()
    static let read = Rights(select: true)
    static let add = Rights(select: true, insert: true)

    /// Added, and these columns changed.
    static func add(_ columns: String...) -> Rights { Rights(select: true, insert: true, update: Set(columns)) }
    /// Read, and these columns changed.
    static func change(_ columns: String...) -> Rights { Rights(select: true, update: Set(columns)) }
    /// Added and removed, and these columns changed.
    static func whole(_ columns: String...) -> Rights {
      Rights(select: true, insert: true, delete: true, update: Set(columns))
    }
  }

  static let services: [DatabaseUser] = [.adSelection, .impressionTracking, .clickTracking, .billing]

  /// Schemas, each with the service that it is of.
  static func schema(of service: DatabaseUser) -> String { service.rawValue.replacing("-", with: "_") }

  /// What each service may do with the tables that every service has, and what the command may.
  private static let ofPartitions: [(table: String, service: Rights, command: Rights)] = [
    (
      "partition",
      .add(
        "epoch", "session", "batch_number", "watermark", "outbox_id", "owner", "input_topics", "output_topics",
        "next_offsets", "last_offsets", "last_timestamps", "last_hashes", "consumed_sequences", "consumed_watermarks",
        "next_sequences", "confirmed_sequences"),
      .change("epoch", "batch_number", "next_offsets", "last_offsets", "last_timestamps", "last_hashes")
    ),
    ("batch", .add, .add), ("rejected", .add, .read),
    ("lost_range", .add, .add), ("lost_sequence", .add, .read), ("gap_request", .add, .add),
    ("answered_gap_request", .add("number"), .read), ("outbox", .whole(), .read), ("windows", .read, .read),
    ("member", .whole("beat"), .read), ("terms", .add("last_day"), .read), ("counted", .add("batch_number"), .read),
  ]

  /// What each service may do with its other tables; nobody else but console and command may even read them.
  private static let own: [DatabaseUser: [String: Rights]] = [
    .adSelection: [
      "decision_row": .add, "decision_pack": .add, "creative": .add("last_day"), "auction_rules": .add,
      "allotment": .add("used", "used_for_clicks", "closed_at", "report_sequence"), "minute_count": .add,
      "packed_count": .add,
      "hour_count": .read, "day_count": .read, "rollup_count": .read, "keyless_count": .whole("requests"),
    ],
    .impressionTracking: [
      "impression_row": .add, "delivery_row": .add, "delivery_pack": .add, "failure": .add, "minute_count": .add,
      "packed_count": .add,
      "hour_count": .read, "day_count": .read, "rollup_count": .read,
    ],
    .clickTracking: [
      "impression_pack": .add, "click_row": .add, "stopped_action": .add, "conversion": .add, "parked_row": .whole(),
      "minute_count": .add,
      "packed_count": .add,
      "hour_count": .read, "day_count": .read, "rollup_count": .read,
    ],
    .billing: [
      "charge_row": .add, "charge_pack": .add,
      "suspense": .add, "click_count": .whole("impressions", "clicks"), "minute_revenue": .add,
      "packed_revenue": .add,
      "hour_revenue": .read, "day_revenue": .read, "rollup_revenue": .read,
      "unfunded_cap": .add("nanos"),
      // By billing.settle and its like alone.
      "held_row": .add, "app_hour": .whole("impressions", "clicks"), "unfunded_day": .read, "held_decision": .read,
      "allotment": .read,
      "waiting_row": .read, "posting": .read, "balance": .read,
    ],
  ]

  /// Tables of no service: what the console and the command may do beyond reading.
  private static let others: [String: (console: Rights, command: Rights)] = [
    "catalog.record": (.read, .add("body", "version", "change_number", "changed_at", "deleted_at")),
    "catalog.history": (.read, .add), "catalog.under_17_bundle": (.read, .add),
    "console.anomaly": (.add("events", "of_events", "limit_basis_points", "changed_at"), .read),
    "treasury.account": (.read, .read), "treasury.campaign": (.read, .read), "treasury.campaign_day": (.read, .read),
    "treasury.funding": (.read, .read),
    "sealed.part": (Rights(select: true, insert: true, delete: true), .read),
    "sealed.head": (.read, .read), "sealed.day": (.read, .read), "sealed.partition": (.read, .read),
    "sealed.account": (.read, .read), "sealed.campaign": (.read, .read), "sealed.campaign_day": (.read, .read),
    "sealed.allotment": (.read, .read), "sealed.count_ahead": (.read, .read), "sealed.revenue_ahead": (.read, .read),
    "sealed.batch": (.read, .read), "sealed.input": (.read, .read), "vocabulary.word": (.read, .read),
    "timeline.timeline": (.read, .read), "timeline.finding": (.read, .read),
    "timeline.lost_sequence": (.read, .read), "timeline.lost_serve": (.read, .read),
    "pipeline.rollup": (.read, .read), "public.schema_migration": (.read, .read), "public.schema_logic": (.read, .read),
  ]

  /// Who reads a consumer's requests to send messages again.
  private static let producers: [DatabaseUser: [DatabaseUser]] = [
    .billing: [.adSelection, .impressionTracking, .clickTracking], .clickTracking: [.impressionTracking],
    .adSelection: [.billing],
  ]

  /// By `schema.table`, every table with the rights of those who have any.
  static let tables: [String: [DatabaseUser: Rights]] = {
    var all: [String: [DatabaseUser: Rights]] = [:]
    for service in services {
      let schema = schema(of: service)
      for (table, rights, command) in ofPartitions {
        all["\(schema).\(table)"] = [service: rights, .console: .read, .command: command]
      }
      for producer in producers[service] ?? [] { all["\(schema).gap_request"]?[producer] = .read }
      for (table, rights) in own[service] ?? [:] {
        all["\(schema).\(table)"] = [service: rights, .console: .read, .command: .read]
      }
    }
    // Who reads messages looks how far those have come who write them.
    for (consumer, writers) in producers {
      for writer in writers {
        all["\(schema(of: writer)).partition"]?[consumer] = .read
      }
    }
    for (table, rights) in others { all[table] = [.console: rights.console, .command: rights.command] }
    for service in services {
      for table in ["timeline.timeline", "timeline.finding", "timeline.lost_sequence", "timeline.lost_serve"] {
        all[table]?[service] = .read
      }
      for table in [
        "vocabulary.word", "pipeline.rollup", "public.schema_migration", "public.schema_logic", "sealed.head",
      ] {
        all[table]?[service] = .read
      }
    }
    all["billing.suspense"]?[.command] = .change("voided_at", "void_reason")
    return all
  }()

  /// What somebody may do with a view: read his own.
  static func ofView(_ path: String, in schema: String, _ user: DatabaseUser) -> Rights {
    switch user {
    // By keys it tells whose a failure is.
    case .impressionTracking where path == "catalog.app_key", .clickTracking where path == "catalog.app_key": .read
    case .console, .command: .read
    case .reporting: schema == "reporting" ? .read : .none
    case .adSelection, .impressionTracking, .clickTracking, .billing: schema == self.schema(of: user) ? .read : .none
    }
  }

  /// Functions that work in the owner's name, each with those who may call it.
  static let functions: [String: Set<DatabaseUser>] = [
    "public.keep_days": Set(services), "public.drop_day": Set(services), "public.keep_count_tables": Set(services),
    "public.fold_counts": Set(services), "public.drop_counts": Set(services),
    "public.roll_up_counts": Set(services), "public.fold_rollups": Set(services),
    "public.keep_windows": Set(services), "public.forget_batches": Set(services),
    "public.forget_allotments": Set(services), "public.forget_terms": Set(services),
    "billing.settle": [.billing], "billing.refuse_unsealed_removal": [], "billing.forget_journals": [.billing],
    "treasury.fund_account": [.billing],
    "treasury.fund_campaign": [.billing], "billing.resolve_held": [.command],
    "billing.retry_suspended": [.command], "public.erase_client": [.command], "public.forget_clients": Set(services),
    "public.forget_rejected": Set(services), "sealed.seal": [.console], "catalog.forget_history": [.console],
    "console.forget_anomalies": [.console],
    "catalog.set_standings": [.console],
    "timeline.note_finding": Set(services),
    "timeline.begin": [.command], "timeline.name_lost_serves": [.command],
  ]
}
