package import AdCore
internal import Foundation
package import HTTP

/// A service: what it is called, what it needs to know, and how it starts. ``ServiceMain`` does the rest.
package protocol Service {
  associatedtype Configuration: Sendable

  /// The executable's name, such as `handbill-billing`.
  static var name: String { get }
  /// One sentence for `--help`.
  static var summary: String { get }
  /// Every key that ``configuration(_:)`` reads, for `--help` and the documentation.
  static var configurationKeys: [ConfigurationDeclaration] { get }
  /// Every metric of the service's own; dashboards are checked against this list.
  static var metrics: [MetricDeclaration] { get }

  /// Reads the configuration. It goes on after problems; they are all reported together.
  static func configuration(_ reader: inout ConfigurationReader) -> Configuration

  /// Starts everything in the order of dependence, and tells `context.lifeCycle` how to stop each part. It returns
  /// when all has been started. What it throws ends the process with ``ExitCode/unavailable``, or with the
  /// ``ExitCode`` thrown.
  static func start(_ configuration: Configuration, _ context: ServiceContext) throws
}

/// What every service is given.
package struct ServiceContext: Sendable {
  package let logger: Logger
  package let metrics: MetricsRegistry
  package let health: Health
  package let lifeCycle: LifeCycle
  package let clock: any TimeSource
}

/// The life of a service's process, from its arguments to its exit code.
package enum ServiceMain {
  private struct Common: Sendable {
    let logLevel: LogLevel
    let adminAddress: String
    let adminPort: Int
    let shutdownMilliseconds: Int
  }

  /// The command line of a service: an option for each key.
  package static func command<S: Service>(of service: S.Type) -> Command {
    let keys = service.configurationKeys + CommonKeys.ofEveryService
    let options = keys.map { CommandOption.value($0.optionName, "VALUE", help: "Sets \($0.name).") }
    let ownFlag = CommandOption.flag(
      "healthcheck", help: "Ask the running service for /livez (with --ready for /readyz); exit 0 if it is well.")
    let ready = CommandOption.flag("ready", help: "With --healthcheck: ask whether it is ready for work.")
    let discussion =
      "Configuration, by option, environment variable or a file named by NAME_FILE:\n\n"
      + keys.map(\.helpText).joined(separator: "\n")
    return Command(
      service.name, summary: service.summary, discussion: discussion, options: [ownFlag, ready] + options,
      examples: [CommandExample("\(service.name) --healthcheck --ready", "For a container's health check.")],
      run: { _ in .success })
  }

  /// Runs the service until it is told to stop, and ends the process. Call it from a `main()` that is not async.
  package static func run<S: Service>(_ service: S.Type) -> Never {
    let arguments = Array(CommandLine.arguments.dropFirst())
    let code = run(service, arguments: arguments, environment: ProcessInfo.processInfo.environment)
    // At once: clients of libraries may still be ending on threads of theirs, and nobody waits for that. What was said is
    // written.
    _exit(code.rawValue)
  }

  /// The same, with its surroundings given; returns how the process shall exit.
  static func run<S: Service>(_ service: S.Type, arguments: [String], environment: [String: String]) -> ExitCode {
    switch CommandParser.parse(arguments, as: command(of: service)) {
    case .help(let text):
      Terminal.print(text)
      return .success
    case .version:
      Terminal.print("\(service.name) \(BuildInformation.current.text)")
      return .success
    case .mistake(let error, let usage):
      Terminal.note("\(service.name): \(error)\nUsage: \(usage)\nMore: --help")
      return .usage
    case .run(_, let invocation):
      let values = invocation.values.compactMapValues(\.last)
      if invocation.has("healthcheck") {
        return healthcheck(service, values, environment, path: invocation.has("ready") ? "/readyz" : "/livez")
      }
      return serve(service, values, environment)
    }
  }

  private static func readCommon(_ reader: inout ConfigurationReader) -> Common {
    Common(
      logLevel: reader.value(CommonKeys.logLevel), adminAddress: reader.value(CommonKeys.adminAddress),
      adminPort: reader.value(CommonKeys.adminPort),
      shutdownMilliseconds: reader.value(CommonKeys.shutdownMilliseconds))
  }

  private static func healthcheck<S: Service>(
    _ service: S.Type, _ values: [String: String], _ environment: [String: String], path: String
  ) -> ExitCode {
    do throws(ConfigurationProblems) {
      let common = try ConfigurationReader.read(commandLine: values, environment: environment) { readCommon(&$0) }
      return AdminServer.check(address: common.adminAddress, port: common.adminPort, path: path)
    } catch {
      Terminal.note("\(service.name): \(error)")
      return .configuration
    }
  }

  private static func serve<S: Service>(
    _ service: S.Type, _ values: [String: String], _ environment: [String: String]
  ) -> ExitCode {
    ProcessMemory.keepForBatches()
    var reader = ConfigurationReader(commandLine: values, environment: environment)
    let configuration = service.configuration(&reader)
    let common = readCommon(&reader)
    guard reader.problems.isEmpty else {
      Terminal.note("\(service.name): \(ConfigurationProblems(problems: reader.problems))")
      return .configuration
    }
    let logger = Logger.forStream(
      Terminal.standardOutput, service: service.name, level: common.logLevel, environment: environment)
    for unknown in reader.unknownNames(declared: service.configurationKeys + CommonKeys.ofEveryService) {
      logger.debug("a variable of this name is no key of this service", ["variable": .text(unknown.name)])
    }
    let lifeCycle = LifeCycle(logger: logger)
    let signals = ShutdownSignals(
      onFirst: { lifeCycle.requestStop($0 == SIGTERM ? "SIGTERM" : "SIGINT") },
      onSecond: { _ in _exit(ExitCode.failure.rawValue) })
    defer { signals.cancel() }
    let context = ServiceContext(
      logger: logger, metrics: MetricsRegistry(service.metrics), health: Health(), lifeCycle: lifeCycle,
      clock: SystemClock())
    let code = start(service, configuration, common, context)
    context.health.beginStopping()
    let isStopped = lifeCycle.stopAll(timeoutMilliseconds: common.shutdownMilliseconds)
    logger.notice("stopped", ["exit_code": LogValue(code.rawValue)])
    return isStopped ? code : .failure
  }

  /// Starts all, waits until a stop is asked for, and says how the process shall exit.
  private static func start<S: Service>(
    _ service: S.Type, _ configuration: S.Configuration, _ common: Common, _ context: ServiceContext
  ) -> ExitCode {
    do {
      ProcessMetrics.register(in: context.metrics, service: service.name)
      let admin = try HTTPServer(
        address: common.adminAddress, port: common.adminPort,
        settings: [CommonKeys.adminAddress.declaration.name, CommonKeys.adminPort.declaration.name],
        router: AdminServer.routes(service: service.name, health: context.health, metrics: context.metrics),
        onFailure: context.logger.named("admin").httpFailure)
      // First in, last out: health can be asked for until the end.
      context.lifeCycle.onStop("admin") { admin.stop() }
      context.logger.info(
        "starting",
        [
          "version": .text(BuildInformation.current.text), "admin_address": .text(admin.address),
          "admin_port": LogValue(admin.port),
        ])
      // Conditions come up while it starts: without this one it would look ready in between.
      let started = context.health.readiness("start")
      try service.start(configuration, context)
      started.setReady()
      context.logger.info("started")
      return context.lifeCycle.waitForRequest()
    } catch let code as ExitCode {
      return code
    } catch {
      context.logger.critical("cannot start", ["error": LogValue(describing: "\(error)")])
      return .unavailable
    }
  }
}

extension Logger {
  /// For an ``HTTPServer``'s failures.
  package var httpFailure: @Sendable (HTTPFailure) -> Void {
    { failure in
      error(
        "a handler failed",
        [
          "id": .text(failure.id), "method": .text(failure.method), "path": .text(failure.path),
          "error": .text(failure.reason),
        ])
    }
  }
}
