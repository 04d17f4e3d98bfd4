import AdCore
import Crypto
import JSON
import LocalProcesses
import Postgres
import TestServices
import TestValues
import Testing

@testable import Operations

@Suite("Explanations of what is not found, not registered, or not ours")
struct ExplainTraceTests {
  private static let id = "01983b0a-1010-7000-8000-00000000aaaa"

  private func explain(_ asked: String, authenticity: TokenAuthenticity = .notChecked, after script: String)
    async throws
    -> ServeExplanation
  {
    let pool = try await TestDatabase.pool()
    defer { pool.close() }
    return try await onOwnThread {
      try pool.withConnection { connection throws(PostgresError) in try connection.executeScript(script) }
      return try Explain(pool).explain(try #require(ExplainSubject.read(asked)), authenticity: authenticity)
    }
  }

  private static func rejected(offset: Int, arrival: String = "2025-07-24", value: String, header: String = "x")
    -> String
  {
    """
    INSERT INTO click_tracking.rejected (partition, topic, record_offset, batch_number, arrival, reason, detail, value,
      value_length, value_hash, header_names, header_values)
    VALUES (0, 'ads.clicks', \(offset), 1, '\(arrival)', 74, 'the serve token was altered', \(value), 1, '',
      '{ce_id}', ARRAY['\(header)'::bytea]);
    """
  }

  @Test("an id that is not found is told with the rejected records that name it, in whatever form")
  func traces() async throws {
    let raw = "decode(replace('\(Self.id)', '-', ''), 'hex')"
    let base64 = (0..<3).map { shift in
      Self.rejected(
        offset: 10 + shift,
        value:
          "convert_to(encode('\\x\(String(repeating: "aa", count: shift))'::bytea || \(raw) || '\\xbbcc', 'base64'), 'UTF8')"
      )
    }
    let script =
      Self.rejected(offset: 1, value: "'\\x0a'::bytea || \(raw) || '\\x0b'") + base64.joined()
      + Self.rejected(offset: 2, value: "convert_to('{\"id\": \"\(Self.id)\"}', 'UTF8')")
      + Self.rejected(offset: 3, value: "'x'", header: Self.id)
      + Self.rejected(offset: 4, value: "'another'")
      + Self.rejected(offset: 5, arrival: "2025-07-30", value: raw)
    let found = try await explain(Self.id, after: script)
    #expect(!found.isKnown)
    #expect(Set(found.rejected.map(\.reference.offset)) == [1, 2, 3, 10, 11, 12])
    let json = found.json
    #expect(json["isKnown"] == false && json["searchedFrom"] == "2025-07-22T00:00:00Z")
    #expect(json["rejectedRecords"]?.elements?.first?["reference"] == "click-tracking/ads.clicks/0/1")
    #expect(json["rejectedRecords"]?.elements?.first?["reasonName"] == "tokenForged")
    #expect(
      found.text.contains(
        "Rejected record click-tracking/ads.clicks/0/1, which came at 2025-07-24T00:00:00Z, names it: 74 tokenForged, the "
          + "serve token was altered. 'handbill rejected show click-tracking/ads.clicks/0/1' tells more."),
      "\(found.text)")
  }

  @Test("where no rejected record names it, the command that shows them is named")
  func nowhere() async throws {
    let found = try await explain(Self.id, after: "")
    #expect(found.json["rejectedRecords"] == [] && found.json["tokenAuthenticity"] == .null)
    #expect(
      found.text.contains(
        "'handbill rejected list --since 2025-07-22T00:00:00Z --until 2025-07-27T00:00:00Z' shows all"), "\(found.text)"
    )
  }

  @Test("an app that the catalogue does not have is told", arguments: [true, false])
  func apps(isRegistered: Bool) async throws {
    let catalog =
      isRegistered
      ? """
      INSERT INTO catalog.record (key, kind, body, version, change_number, changed_at)
      VALUES ('app/app', 'app', '{}', 1, 1, now());
      """ : ""
    let found = try await explain(ReconciliationTests.serve, after: ReconciliationTests.served + catalog)
    #expect(found.json["unregisteredApps"] == (isRegistered ? [] : ["app"]))
    #expect(found.text.contains("App app is not registered in the catalogue") != isRegistered, "\(found.text)")
  }

  private func terms(_ id: ServeID) -> ServedTerms {
    .sample(issuedAt: id.timestamp) { $0.serveID = id }
  }

  @Test("of a token it is told whether it opens; an altered one is not told as if it had been issued")
  func authenticity() async throws {
    let id = try #require(UUIDv7(ReconciliationTests.serve))
    let ring = try KeyRing(keys: [try KeyRing.Key(id: 1, secret: [UInt8](repeating: 1, count: 32))])
    let other = try KeyRing(keys: [try KeyRing.Key(id: 2, secret: [UInt8](repeating: 1, count: 32))])
    let token = try ServeTokenIssuer(ring: ring).issue(terms(id))
    var altered = token
    altered[60] ^= 1
    #expect(try TokenAuthenticity(of: token, ring) == .opened)
    #expect(try TokenAuthenticity(of: altered, ring) == .doesNotOpen)
    #expect(try TokenAuthenticity(of: token, other) == .keyUnknown)
    #expect(try TokenAuthenticity(of: altered, nil) == .notChecked)
    for (authenticity, words) in [
      (TokenAuthenticity.opened, "The token is the network's own, for serve \(id)."),
      (.doesNotOpen, "was altered, or never issued (I1)"), (.notChecked, "was not checked"),
      (.keyUnknown, "could not be checked"),
    ] {
      let found = try await explain(Base64.encode(token), authenticity: authenticity, after: ReconciliationTests.served)
      #expect(found.json["tokenAuthenticity"] == .text(authenticity.rawValue) && found.serveID == id)
      #expect(found.text.hasPrefix("The token"), "\(found.text)")
      #expect(found.text.split(separator: "\n")[0].contains(words), "\(found.text)")
      let missing = try await explain(Base64.encode(token), authenticity: authenticity, after: "")
      #expect(missing.text.contains(words) && missing.text.contains("Nothing is known of serve \(id)"))
    }
  }
}
