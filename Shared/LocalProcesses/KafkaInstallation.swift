internal import Foundation

/// An Apache Kafka on this machine, with the scripts of Apache's own download.
package struct KafkaInstallation: Sendable, Equatable {
  /// The folder that has `bin/kafka-server-start.sh`.
  package let home: String

  /// Finds a Kafka, and the Java that it needs: in `KAFKA_HOME`, else in `../shared/kafka` beside the package.
  ///
  /// - Throws: `SupervisionError.unavailable` with what is missing.
  package static func find() throws -> KafkaInstallation {
    let scripts = ["kafka-server-start.sh", "kafka-storage.sh"]
    let named = ProcessInfo.processInfo.environment["KAFKA_HOME"].flatMap { $0.isEmpty ? nil : $0 }
    let home = named ?? PackageRoot.path("../shared/kafka")
    guard scripts.allSatisfy({ FileManager.default.isExecutableFile(atPath: "\(home)/bin/\($0)") }) else {
      throw SupervisionError.unavailable(
        what: named.map { "Apache Kafka in \($0)" } ?? "Apache Kafka",
        hint: "set KAFKA_HOME to the folder of a Kafka 3.7 or later")
    }
    guard hasJava else {
      throw SupervisionError.unavailable(
        what: "Java", hint: "Kafka needs it: install openjdk-17-jre-headless, or set JAVA_HOME")
    }
    return KafkaInstallation(home: URL(fileURLWithPath: home).standardizedFileURL.path)
  }

  /// Why there is no Kafka that could be started; nil when there is one.
  package static var reasonMissing: String? {
    do {
      _ = try find()
      return nil
    } catch {
      return "\(error)"
    }
  }

  /// Whether a broker can be started here.
  package static var isAvailable: Bool { reasonMissing == nil }

  /// The path of one of its scripts.
  package func script(_ name: String) -> String { "\(home)/bin/\(name)" }

  private static var hasJava: Bool {
    let environment = ProcessInfo.processInfo.environment
    if let home = environment["JAVA_HOME"], !home.isEmpty {
      return FileManager.default.isExecutableFile(atPath: "\(home)/bin/java")
    }
    let path = (environment["PATH"] ?? "").split(separator: ":")
    return path.contains { FileManager.default.isExecutableFile(atPath: "\($0)/java") }
  }
}
