internal import Foundation
internal import Glibc
internal import Threads

/// A real Kafka broker of our own, which is its own controller, on loopback ports, and ends with this process.
///
/// Topics are never made by themselves. The folder is formatted at the first start and used again at later ones, also
/// after a kill -9; address and ports stay the same over restarts of the same instance.
package final class LocalKafka: Sendable {
  /// What the broker is made of.
  package struct Configuration: Sendable {
    /// The folder for log segments and the broker's own log; made if it is not there.
    package var folder: String
    /// Where clients connect; nil for any free port.
    package var port: Int?
    /// Broker settings that go before ours.
    package var settings: [String: String]
    /// Megabytes of the Java heap.
    package var heapMegabytes: Int
    /// Whether it lives so briefly that Java had better not optimise much: it starts in half the time, and carries less.
    package var isShortLived: Bool
    /// How long a start may take, recovery after a crash included.
    package var startTimeoutMilliseconds: Int
    /// Where the controller listens; nil for any free port.
    package var controllerPort: Int?
    /// What all brokers of a cluster have in common; nil for one of its own.
    package var clusterIdentifier: String?

    package init(
      folder: String, port: Int? = nil, settings: [String: String] = [:], heapMegabytes: Int = 512,
      isShortLived: Bool = false, startTimeoutMilliseconds: Int = 60_000, controllerPort: Int? = nil,
      clusterIdentifier: String? = nil
    ) {
      self.folder = folder
      self.port = port
      self.settings = settings
      self.heapMegabytes = heapMegabytes
      self.isShortLived = isShortLived
      self.startTimeoutMilliseconds = startTimeoutMilliseconds
      self.controllerPort = controllerPort
      self.clusterIdentifier = clusterIdentifier
    }
  }

  package let configuration: Configuration
  /// The port that clients connect to.
  package let port: Int
  private let installation: KafkaInstallation
  private let controllerPort: Int
  private let broker = Monitor<ChildProcess?>(nil)

  /// Prepares a broker that is not started yet.
  ///
  /// - Throws: `SupervisionError.unavailable` when Kafka or Java is missing.
  package init(_ configuration: Configuration) throws {
    self.configuration = configuration
    installation = try KafkaInstallation.find()
    let ports = try FreePort.find(count: 2)
    port = configuration.port ?? ports[0]
    controllerPort = configuration.controllerPort ?? ports[1]
  }

  deinit { stopAndWait() }

  /// What clients take as `bootstrap.servers`.
  package var bootstrapServers: String { "127.0.0.1:\(port)" }

  /// Whether the broker runs.
  package var isRunning: Bool { processIdentifier != nil }

  /// The number of the broker's process; nil while it does not run.
  package var processIdentifier: Int32? {
    broker.withLock { $0.flatMap { $0.isRunning ? $0.processIdentifier : nil } }
  }
}

// Starting and ending, which block.
extension LocalKafka {
  /// Starts the broker and returns when it answers; nothing happens if it runs.
  ///
  /// - Throws: `SupervisionError.failed` with the broker's last words.
  package func startAndWait() throws {
    try broker.withLock { broker in
      if let running = broker, running.isRunning { return }
      try prepare()
      let log = ChildProcess.Output.lines(alsoTo: "\(configuration.folder)/kafka.log")
      let heap = configuration.heapMegabytes
      var environment = ["KAFKA_HEAP_OPTS": "-Xms\(min(heap, 256))m -Xmx\(heap)m", "LOG_DIR": configuration.folder]
      // What the caller's environment says of Java is better: it may name an archive of classes.
      if configuration.isShortLived, ProcessInfo.processInfo.environment[Self.javaOptions] == nil {
        environment[Self.javaOptions] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
      }
      let child = try ChildProcess(
        ChildProcess.Command(
          installation.script("kafka-server-start.sh"), [propertiesPath], environment: environment, output: log,
          errorOutput: log))
      do {
        try child.waitForLine(timeoutMilliseconds: configuration.startTimeoutMilliseconds) {
          $0.contains("Kafka Server started")
        }
      } catch {
        child.terminate(graceMilliseconds: 0)
        throw error
      }
      broker = child
    }
  }

  /// Ends the broker in order.
  package func stopAndWait() {
    broker.withLock { broker in
      _ = broker?.terminate(graceMilliseconds: 20_000)
      broker = nil
    }
  }

  /// Ends the broker with SIGKILL and returns when it is gone.
  package func killAndWait() {
    broker.withLock { broker in
      _ = broker?.terminate(graceMilliseconds: 0, signal: SIGKILL)
      broker = nil
    }
  }

  /// The environment variable that Kafka's scripts take Java's options from.
  private static let javaOptions = "KAFKA_JVM_PERFORMANCE_OPTS"

  private var propertiesPath: String { "\(configuration.folder)/server.properties" }
  private var dataPath: String { "\(configuration.folder)/data" }

  /// Writes the settings and formats the folder unless it is formatted.
  private func prepare() throws {
    let manager = FileManager.default
    do {
      try manager.createDirectory(atPath: configuration.folder, withIntermediateDirectories: true)
      try properties.write(toFile: propertiesPath, atomically: true, encoding: .utf8)
    } catch {
      throw SupervisionError.unavailable(
        what: configuration.folder, hint: "it cannot be written: \(error.localizedDescription)")
    }
    guard !manager.fileExists(atPath: "\(dataPath)/meta.properties") else { return }
    let identifier = configuration.clusterIdentifier ?? Self.newClusterIdentifier()
    try ChildProcess.run(
      ChildProcess.Command(
        installation.script("kafka-storage.sh"), ["format", "--cluster-id", identifier, "--config", propertiesPath],
        environment: ["LOG_DIR": configuration.folder]))
  }

  private var properties: String {
    var settings = Self.settings
    settings["controller.quorum.voters"] = "1@127.0.0.1:\(controllerPort)"
    settings["listeners"] = "PLAINTEXT://127.0.0.1:\(port),CONTROLLER://127.0.0.1:\(controllerPort)"
    settings["advertised.listeners"] = "PLAINTEXT://127.0.0.1:\(port)"
    settings["log.dirs"] = dataPath
    settings.merge(configuration.settings) { $1 }
    return settings.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)\n" }.joined()
  }

  /// A cluster id: 16 bytes in base64 without padding, so the last of its 22 letters carries two bits only.
  package static func newClusterIdentifier() -> String {
    let letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    return "handbill" + String((0..<13).compactMap { _ in letters.randomElement() }) + "A"
  }

  private static let settings: [String: String] = [
    "auto.create.topics.enable": "false",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "node.id": "1",
    "num.partitions": "4",
    "offsets.topic.num.partitions": "8",
    "offsets.topic.replication.factor": "1",
    "process.roles": "broker,controller",
    "share.coordinator.state.topic.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "8",
    "transaction.state.log.replication.factor": "1",
  ]
}
