import AdCore
import Crypto
import Kafka
import Runtime

/// Configuration: the first byte chooses the kind of a key, the rest is its value. And rings of keys, which are secret.
enum ConfigurationTarget {
  static let target = FuzzTarget(
    "configuration", inputBytesMaximum: 1_024,
    words: [" from ", " until ", "2026-02-01T00:00:00Z", "250ms", "1h", "true", "postgresql://", "1:"],
    seeds: { seeds }, fault: fault)

  private static let name = "HANDBILL_FUZZED"

  private static func fault(_ input: UnsafeRawBufferPointer) -> String? {
    guard let choice = input.first else { return nil }
    let text = input.dropping(1).text
    var reader = ConfigurationReader(environment: [name: text]) { _ in nil }
    switch choice % 7 {
    case 0:
      let number = reader.value(ConfigurationKey<Int>.integer(name, in: 1...65_535, default: 1, help: ""))
      if !(1...65_535).contains(number) { return "\(number) is out of range" }
    case 1:
      let time = reader.value(ConfigurationKey<Int>.milliseconds(name, in: 10...86_400_000, default: 10, help: ""))
      if !(10...86_400_000).contains(time) { return "\(time) ms are out of range" }
    case 2: _ = reader.value(ConfigurationKey<Bool>.flag(name, default: false, help: ""))
    case 3: return propertiesFault(text)
    case 4: _ = reader.value(ConfigurationKey<String>.url(name, schemes: ["postgresql"], default: "", help: ""))
    case 5: _ = reader.value(ConfigurationKey<String>.text(name, bytesMaximum: 64, isSecret: true, help: ""))
    default: return ringFault(text)
    }
    for problem in reader.problems {
      if let fault = lineFault("\(problem)") { return fault }
      if choice % 7 == 5, text.utf8.count >= 8, problem.reason.contains(text) { return "a secret was shown" }
    }
    return nil
  }

  private static func propertiesFault(_ text: String) -> String? {
    do throws(KafkaProperties.Mistake) {
      let values = try KafkaProperties(text).values
      return values.keys.contains("") || values["acks"] != nil ? "settings against their rules" : nil
    } catch {
      return lineFault("\(error)") ?? ("\(error)".utf8.count > 200 ? "too much is said of settings" : nil)
    }
  }

  private static func ringFault(_ text: String) -> String? {
    do {
      let ring = try KeyRing(configuration: text)
      guard (1...KeyRing.keysMaximum).contains(ring.keys.count) else { return "a ring of \(ring.keys.count) keys" }
      return try verifiesItsOwn(ring) || ring.keys.contains { $0.signsFrom != nil || $0.lastSignedAt != nil }
        ? nil : "what signs does not verify"
    } catch let error as KeyRingError {
      // Whoever mixes up number and secret must not find the secret in the log.
      return error.description.utf8.count > 200 ? "too much is said of a ring: \(error)" : nil
    } catch { return "\(error)" }
  }

  private static func verifiesItsOwn(_ ring: KeyRing) throws(CryptoError) -> Bool {
    let marks = try ForwardingMark(ring: ring)
    return FuzzKeys.secret.withUnsafeBytes { payload in
      marks.mark(payload: payload, partition: 0, now: FuzzKeys.now).withUnsafeBytes {
        marks.verifies($0, payload: payload, partition: 0, now: FuzzKeys.now)
      }
    }
  }

  private static func lineFault(_ text: String) -> String? {
    let isLine = !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    return isLine && text.utf8.count <= 4_096 ? nil : "a problem is not one line"
  }

  private static var seeds: [[UInt8]] {
    let key = Base64.encode(FuzzKeys.secret)
    return [
      (0, "9090"), (1, "250ms"), (1, "5m"), (2, "yes"), (3, "a, b,c"), (4, "postgresql://u:p@h/d"),
      (5, "hunter2hunter2"), (6, "1:\(key)"),
      (6, "1:\(key) until 2026-02-01T00:00:00Z, 2:\(key) from 2026-02-01T00:00:00Z"),
    ].map { [UInt8($0)] + Array($1.utf8) }
  }
}
