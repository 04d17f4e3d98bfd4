import AdCore
import JSON
import Operations

/// A catalogue file, as a person gives it to `handbill catalog apply`.
enum CatalogueFileTarget {
  static let target = FuzzTarget(
    "catalogue-file", inputBytesMaximum: 8_192,
    words: CatalogKind.inFiles.map(\.section) + [
      "id", "name", "app", "build", "key", "keyHash", "isRevoked", "exclusions", "targeting", "2026-07-01T00:00:00Z",
      "10.000000001", "Europe/Berlin", "brand", "developer", "house", "cover", "leave",
    ], seeds: { seeds }, fault: fault)

  private static func fault(_ input: UnsafeRawBufferPointer) -> String? {
    switch CatalogFile.read(Array(input)) {
    case .failure(let problems):
      return problems.problems.isEmpty ? "it was refused without a problem" : nil
    case .success(let file):
      for entry in file.entries {
        if !entry.record.faults().isEmpty { return "\(entry.path) was taken with faults" }
        let written = CatalogJSON.value(of: entry.record)
        guard let again = try? JSONValue.parse(Array(written.compactText.utf8)),
          CatalogJSON.record(stored: again, kind: CatalogKind(of: entry.record)) == entry.record
        else { return "\(entry.path) reads back as something else" }
      }
      return nil
    }
  }

  private static var seeds: [[UInt8]] {
    let texts = [
      #"{"settings":{"countries":["US","DE"],"testFillBasisPoints":8000,"testErrorBasisPoints":500}}"#,
      #"{"advertisers":[{"id":"ferry","name":"Ferry","currency":"USD","timeZone":"Europe/Berlin","accountFunding":"1000"}]}"#,
      #"""
      {"campaigns":[{"id":"summer","advertiser":"ferry","name":"Summer","kind":"brand","cpm":"10.00","clickPrice":"2",
      "totalBudget":"500.000000001","dailyBudget":null,"flightStart":"2026-07-01T00:00:00Z",
      "flightEnd":"2026-08-01T00:00:00Z","targeting":{"countries":["US"],"devices":["phone"],"segments":["a"]}}]}
      """#,
      #"""
      {"ads":[{"id":"one","campaign":"summer","images":{"phonePortrait":"https://a.example/1"},
      "action":{"kind":"cover","destination":"https://a.example/"},"keywords":["sea"],"lifetimeMilliseconds":300000}]}
      """#,
      #"""
      {"developers":[{"id":"dev","name":"Dev"}],"apps":[{"id":"chess","developer":"dev","name":"Chess",
      "bundleID":"com.example.chess","isAgreementSigned":true,"isUnder17":false,"areAdsEnabled":true,
      "exclusions":{"hosts":["b.example"],"categories":["x"]}}],"keys":[{"app":"chess","build":"distribution"}]}
      """#,
      #"{"appKeys":[{"app":"chess","build":"developer","key":"0123456789abcdef","isRevoked":true}]}"#,
      "[[[[[[]]]]]]", "null", #"{"settings":1e999}"#,
    ]
    return texts.map { Array($0.utf8) }
  }
}
