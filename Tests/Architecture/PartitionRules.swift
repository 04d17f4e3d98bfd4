import Foundation

/// Tables of partitions may be spread over servers by `partition`. So whoever looks a row up by an id, or joins two such
/// tables, compares the partition as well; and nothing is written that such servers cannot do.
enum PartitionRules {
  private static let folders = ["Shared/", "Services/"]
  /// Steps of the tables' history that had landed before the rules: they are never edited.
  private static let landedSteps = 26
  private static let services: Set = ["ad_selection", "impression_tracking", "click_tracking", "billing", "sealed"]
  /// Tables in those schemas that are of no partition: what partitions share, and what is named by its content.
  private static let shared: Set = [
    "terms", "creative", "auction_rules", "member", "head", "part", "campaign", "campaign_day",
  ]
  private static let ids: Set = ["serve_id", "request_id", "allotment"]
  /// Ids too, where a table of partitions is asked for them.
  private static let numbers: Set = ["id", "batch_number", "sequence", "report_sequence", "number", "record_offset"]
  /// Asked by a person who knows an id of the device's and nothing else: every partition is asked, by an index.
  private static let exceptions: Set = ["FindRequest.swift", "ReadToldErrors.swift"]

  /// Look-ups and joins that do not compare the partition.
  static func unnamed(_ file: SourceFile) -> [String] {
    guard !exceptions.contains(name(of: file)) else { return [] }
    return queries(in: file).compactMap { query in
      isUnnamed(query) ? "\(file.path): \(query.prefix(40).joined(separator: " "))" : nil
    }
  }

  /// Tables that a crash empties, and columns that are set to an element of an array.
  static func unspreadable(_ file: SourceFile) -> [String] {
    queries(in: file).compactMap { query in
      query.contains("unlogged") || setsElement(query)
        ? "\(file.path): \(query.prefix(40).joined(separator: " "))" : nil
    }
  }

  /// What a session is called is known to two functions alone.
  static func sessions(_ file: SourceFile) -> [String] {
    let places = ["Shared/Migrations/Logic/", "Shared/PipelineHost/", "Services/"]
    guard places.contains(where: file.path.hasPrefix), name(of: file) != "11_sessions.sql",
      // It asks of its own connection whether it is encrypted.
      name(of: file) != "DatabaseExamination.swift"
    else { return [] }
    return ["pg_backend_pid", "pg_terminate_backend"].flatMap(file.lines(with:)).map { "\(file.path):\($0)" }
  }

  private static func name(of file: SourceFile) -> String {
    file.path.split(separator: "/").last.map(String.init) ?? ""
  }

  // MARK: One query

  private static func isUnnamed(_ query: [String]) -> Bool {
    let sources = sources(of: query)
    guard !sources.isEmpty else { return false }
    let condition = Array(query.drop { !["where", "on", "using"].contains($0) })
    let lookedUp = sources.contains(where: isOfPartitions) ? ids.union(numbers) : ids
    if looksUp(condition, lookedUp), !compares(condition, ["partition", "held_partition"]) { return true }
    return joins(query).contains { join in
      let isOfPartitions = isOfPartitions(join.source) && sources.count(where: isOfPartitions) > 1
      return (isOfPartitions || looksUp(join.condition, ids)) && !compares(join.condition, ["partition"])
    }
  }

  /// What it reads from: names after FROM, JOIN, UPDATE, and the commas of a FROM.
  private static func sources(of query: [String]) -> [String] {
    zip(query, query.dropFirst()).compactMap { word, next in
      ["from", "join", "update", "using", "only"].contains(word) && next != "(" && next != "lateral" ? next : nil
    }
  }

  private static func isOfPartitions(_ source: String) -> Bool {
    // A name that is put in.
    if source == "\\" { return true }
    let parts = source.split(separator: ".").map(String.init)
    guard parts.count == 2, let table = parts.last else { return false }
    return (services.contains(parts[0]) || parts[0].hasPrefix("\\")) && !shared.contains(table)
  }

  /// Each JOIN with a name, and its ON or USING.
  private static func joins(_ query: [String]) -> [(source: String, condition: [String])] {
    query.indices.filter { query[$0] == "join" && $0 + 1 < query.count }.map { start in
      let rest = query[(start + 1)...]
      let ends: Set = [
        "join", "left", "full", "cross", "where", "group", "order", "limit", "returning", "inner", "union",
      ]
      return (query[start + 1], Array(rest.dropFirst().prefix { !ends.contains($0) }))
    }
  }

  /// Whether a condition compares one of the columns with something, or names it in USING.
  private static func looksUp(_ condition: [String], _ columns: Set<String>) -> Bool {
    condition.indices.contains { place in
      guard isColumn(condition[place], columns) else { return false }
      let follower = condition.dropFirst(place + 1).first ?? ""
      if follower == "=" || follower == "in" { return true }
      // (serve_id, id_hash) IN …
      if follower == "," || follower == ")" {
        let list = condition[(place + 1)...].drop { $0 != ")" }.dropFirst().first
        let begin = condition[..<place].last { $0 == "(" || ["select", "by", "values"].contains($0) }
        let before = condition[..<place].lastIndex(of: "(").flatMap { $0 > 0 ? condition[$0 - 1] : nil }
        return begin == "(" && (list == "in" || list == "=" || before == "using")
      }
      return false
    }
  }

  /// The same, and whether something is compared with one of the columns: `x = partition`, `(x, y) = (partition, z)`. A
  /// column that a query only names, to order or to part its rows, is not compared.
  private static func compares(_ condition: [String], _ columns: Set<String>) -> Bool {
    if looksUp(condition, columns) { return true }
    return condition.indices.contains { place in
      guard isColumn(condition[place], columns) else { return false }
      // It itself, or the parentheses that it stands in.
      var depth = 0
      let opened = condition[..<place].indices.reversed().filter { index in
        depth += condition[index] == ")" ? 1 : condition[index] == "(" ? -1 : 0
        defer { depth = max(depth, 0) }
        return depth < 0
      }
      return ([place] + opened).contains { begin in
        let before = condition[..<begin].suffix(2)
        return before.last == "=" && !["<", ">", "!"].contains(before.first ?? "")
      }
    }
  }

  private static func isColumn(_ word: String, _ columns: Set<String>) -> Bool {
    columns.contains(word.split(separator: ".").last.map(String.init) ?? "")
  }

  private static func isWord(_ token: String) -> Bool {
    token.first.map { $0.isLetter || $0 == "_" || $0 == "$" } ?? false
  }

  /// `SET column = … array[i]`.
  private static func setsElement(_ query: [String]) -> Bool {
    guard let start = query.firstIndex(of: "set"), query[..<start].contains("update") else { return false }
    let values = Array(query[start...].prefix { !["from", "where", "returning"].contains($0) })
    return values.indices.dropFirst().contains { place in
      values[place] == "[" && isWord(values[place - 1]) && values[place - 1] != "array"
        && values.dropFirst(place + 1).first != "]"
    }
  }

  // MARK: Reading

  /// The queries of a file as words in lower case, each without those in its parentheses, which are queries of their own.
  static func queries(in file: SourceFile) -> [[String]] {
    guard folders.contains(where: { file.path.hasPrefix($0) }) else { return [] }
    let lines: [String]
    if file.path.hasSuffix(".sql") {
      if file.path.hasPrefix("Shared/Migrations/Tables/"), Int(name(of: file).prefix(4)) ?? 0 <= landedSteps {
        return []
      }
      lines = file.lines.map { String($0.split(separator: "--", maxSplits: 1, omittingEmptySubsequences: false)[0]) }
        .map { $0.isEmpty ? " " : $0 }
    } else if file.path.hasSuffix(".swift") {
      lines = zip(file.lines, file.codeLines).map { line, code in
        line == code || line.drop { $0 == " " }.hasPrefix("//") || line.drop { $0 == " " }.hasPrefix("\"\"\"")
          ? "" : line
      }
    } else {
      return []
    }
    return lines.split(separator: "").flatMap { split(words(of: $0.joined(separator: "\n").lowercased())) }
  }

  /// Names with their dots, interpolations without what is in them, numbers, and single signs.
  private static func words(of text: String) -> [String] {
    var words: [String] = []
    var rest = Substring(text)
    while let first = rest.first {
      if first == "\\", rest.dropFirst().first == "(" {
        var depth = 0
        let end = rest.firstIndex { sign in
          depth += sign == "(" ? 1 : sign == ")" ? -1 : 0
          return sign == ")" && depth == 0
        }
        rest = rest[(end ?? rest.startIndex)...].dropFirst()
        let tail = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
        rest = rest.dropFirst(tail.count)
        words.append("\\" + tail)
      } else if first.isLetter || first.isNumber || "_$%".contains(first) {
        let word = rest.prefix { $0.isLetter || $0.isNumber || "_$.%".contains($0) }
        rest = rest.dropFirst(word.count)
        // format('… %I.table …') names a schema as an interpolation does.
        words.append(word.contains("%") ? "\\." + (word.split(separator: ".").last ?? "") : String(word))
      } else {
        rest = rest.dropFirst()
        if !first.isWhitespace { words.append(String(first)) }
      }
    }
    return words
  }

  private static func split(_ words: [String]) -> [[String]] {
    var done: [[String]] = []
    var open: [(query: [String], isQuery: Bool)] = [([], true)]
    for (place, word) in words.enumerated() {
      let next = place + 1 < words.count ? words[place + 1] : ""
      switch word {
      case "(":
        let isQuery = ["select", "with", "delete", "update", "insert", "("].contains(next)
        if !isQuery { open[open.count - 1].query.append(word) }
        open.append(([], isQuery))
      case ")":
        guard open.count > 1, let last = open.popLast() else { continue }
        if last.isQuery {
          done.append(last.query)
          open[open.count - 1].query.append("(")
          open[open.count - 1].query.append(")")
        } else {
          open[open.count - 1].query += last.query + [")"]
        }
      case "union", ";", "loop", "then", "begin":
        let query = open[open.count - 1].query
        let isInCase = query.count { $0 == "case" } > query.count { $0 == "end" }
        if open[open.count - 1].isQuery, !isInCase {
          done.append(open[open.count - 1].query)
          open[open.count - 1].query = []
        } else {
          open[open.count - 1].query.append(word)
        }
      default: open[open.count - 1].query.append(word)
      }
    }
    return (done + open.map(\.query)).filter { !$0.isEmpty }
  }
}
