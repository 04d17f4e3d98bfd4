import Foundation
import JSON
import LocalProcesses
import Testing

extension WholeNetwork {
  /// `handbill catalog` as people type it.
  @Suite struct CatalogCommandTests {
    private static let catalog = """
      {
        "developers": [{ "id": "sunny", "name": "Sunny" }],
        "apps": [
          {
            "id": "chess", "developer": "sunny", "name": "Chess", "bundleID": "com.sunny.chess", "isAgreementSigned": true,
            "isUnder17": false, "areAdsEnabled": true
          }
        ]
      }
      """

    private func keys(_ network: TestNetwork) throws -> [String] {
      let list = try JSONValue.parse(network.command(["catalog", "list", "--json"]).output.utf8).elements ?? []
      return list.compactMap { $0["key"]?.textValue }.filter { !$0.hasPrefix("settings") }.sorted()
    }

    /// What is said where these cannot be deleted.
    private func refusal(_ keys: [String], _ network: TestNetwork) throws -> String {
      let refused = #expect(throws: TestNetwork.CommandFailure.self) {
        try network.command(["catalog", "delete"] + keys)
      }
      return try #require(refused.flatMap { $0.status == 1 ? $0.said : nil })
    }

    @Test("records are deleted all or none, what others need with these alone, and named where they are unknown")
    func delete() async throws {
      let network = try await TestNetwork.started(
        .init(partitions: 1, services: [], apps: [], catalog: Self.catalog))
      defer { network.stop() }
      try await onOwnThread {
        #expect(try keys(network) == ["app/chess", "developer/sunny"])
        let needed = try refusal(["developer/sunny"], network)
        #expect(needed.contains("is needed by app/chess: delete that first, or both together"), "\(needed)")
        let unknown = try refusal(["app/chess", "app/ches"], network)
        #expect(unknown.contains("app/ches: there is no such record"), "\(unknown)")
        try network.command(["catalog", "delete"], accepting: [64])
        #expect(try keys(network) == ["app/chess", "developer/sunny"])
        let gone = try network.command(["catalog", "delete", "app/chess", "developer/sunny"])
        for key in ["app/chess", "developer/sunny"] { #expect(gone.output.contains("deleted \(key), version ")) }
        #expect(gone.output.contains("\n2 records changed"))
        #expect(try keys(network) == [])
      }
    }
  }
}
