import Testing

@testable import PipelineHost

@Suite("What brokers leave open")
struct BrokerAccessTests {
  @Test("TLS, a login and access rules are each missed where they are not")
  func openings() {
    func count(_ properties: [String: String], _ hasRules: Bool?) -> Int {
      BrokerAccess.openings(properties: properties, hasRules: hasRules).count
    }
    #expect(count([:], false) == 3)
    #expect(count([:], nil) == 2)
    #expect(count(["security.protocol": "PLAINTEXT"], true) == 2)
    #expect(count(["security.protocol": "sasl_plaintext"], true) == 1)
    #expect(count(["security.protocol": "SSL"], true) == 1)
    #expect(count(["security.protocol": "ssl", "ssl.certificate.location": "own.pem"], true) == 0)
    #expect(count(["security.protocol": "SASL_SSL"], true) == 0)
    #expect(count(["security.protocol": "SASL_SSL"], false) == 1)
  }
}
