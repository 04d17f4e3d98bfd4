import Foundation
import LocalProcesses
import Runtime
import Testing

/// One service of compose.yaml: its lines, without indentation.
struct ComposeService {
  static let binaries = Programs.own.folder
  static let areProgramsBuilt = FileManager.default.isExecutableFile(atPath: binaries + "/handbill-billing")

  var name: String
  var lines: [String]

  /// What stands behind `key:`.
  func value(_ key: String) -> String? {
    lines.first { $0.hasPrefix("\(key): ") }.map { String($0.dropFirst(key.count + 2)) }
  }

  /// The program of ours that runs in it.
  var program: String? {
    value("image")?.firstMatch(of: /\$\{IMAGE_PREFIX:-localhost\}\/([a-z-]+):/).map { String($0.output.1) }
  }

  /// The names of our settings.
  var settings: [String] {
    lines.compactMap { $0.firstMatch(of: /^(HANDBILL_[A-Z_]+):/).map { String($0.output.1) } }
  }

  static func all(of file: String = "deploy/compose.yaml") throws -> [ComposeService] {
    var services: [ComposeService] = []
    var isInside = false
    for line in try PackageText.text(file).split(separator: "\n") {
      if !line.hasPrefix(" "), !line.hasPrefix("#") { isInside = line == "services:" }
      guard isInside, line.hasPrefix("  ") else { continue }
      if let match = line.firstMatch(of: /^  ([a-z-]+):$/) {
        services.append(ComposeService(name: String(match.output.1), lines: []))
      } else if !services.isEmpty {
        services[services.count - 1].lines.append(line.trimmingCharacters(in: .whitespaces))
      }
    }
    return services
  }
}

@Suite("Containers")
struct ComposeTests {
  private static let programs = [
    "handbill-ad-selection", "handbill-impression-tracking", "handbill-click-tracking", "handbill-billing",
    "handbill-edge", "handbill-console", "handbill",
  ]

  @Test("Every program of ours runs in a container, and the servers that it needs")
  func services() throws {
    let services = try ComposeService.all()
    #expect(Set(services.compactMap(\.program)) == Set(Self.programs))
    for name in ["kafka", "postgres", "migrate", "topics", "prometheus", "grafana", "seed", "devices"] {
      #expect(services.contains { $0.name == name }, "\(name)")
    }
  }

  @Test("Every container has a profile, a limit of memory and a rule for starting again")
  func limits() throws {
    for service in try ComposeService.all() {
      #expect(
        ["[core]", "[observability]", "[demo]", "[tools]"].contains(service.value("profiles")), "\(service.name)")
      let isOurs = service.value("<<") == "*program"
      #expect(isOurs || service.value("mem_limit") != nil, "\(service.name)")
      #expect(service.value("restart") != nil || service.value("<<") == "*always", "\(service.name)")
      #expect(isOurs == (service.program != nil), "\(service.name)")
    }
  }

  @Test("What a container says is kept within a bound, a third party's too")
  func logs() throws {
    let text = try PackageText.text("deploy/compose.yaml")
    #expect(text.contains("\nx-logging: &logging { driver: json-file, options: { max-size: 10m, max-file: \"3\" } }\n"))
    for name in ["always", "program"] {
      let block = try #require(text.components(separatedBy: ": &\(name)\n").dropFirst().first)
      #expect(block.split(separator: "\n").prefix { $0.hasPrefix("  ") }.contains("  logging: *logging"), "\(name)")
    }
    for service in try ComposeService.all() {
      #expect(["*always", "*program"].contains(service.value("<<")), "\(service.name)")
    }
  }

  @Test("The version is that of the programs, and stands nowhere else")
  func version() throws {
    let version = BuildInformation.current.version
    #expect(try PackageText.text("deploy/.env").contains("\nIMAGE_TAG=\(version)\n"))
    #expect(try PackageText.text("CHANGELOG.md").contains("\n## \(version)"))
    let others =
      try ["README.md", "Makefile"]
      + FileManager.default.contentsOfDirectory(atPath: PackageRoot.path("deploy"))
      .filter { $0 != ".env" }.map { "deploy/" + $0 }
    for file in others {
      guard let text = try? PackageText.text(file) else { continue }
      #expect(!text.contains(version), "\(file)")
    }
    for image in try ComposeService.all().filter({ $0.program != nil }).compactMap({ $0.value("image") }) {
      #expect(image.hasSuffix(":${IMAGE_TAG:?}"), "\(image)")
    }
  }

  @Test("Ports are on loopback unless somebody says otherwise")
  func ports() throws {
    let ports = try ComposeService.all().compactMap { $0.value("ports") }
    #expect(ports.count >= 4)
    for port in ports {
      // Whoever opens the edge to devices opens nothing else.
      let address = port.contains(":8480") ? "EDGE_BIND_ADDRESS" : "BIND_ADDRESS"
      #expect(port.hasPrefix("[\"${\(address):-127.0.0.1}:"), "\(port)")
      #expect(try PackageText.text("deploy/.env").contains("\n\(address)=127.0.0.1\n"))
    }
  }

  @Test("Secrets come as files, which deploy/secrets makes")
  func secrets() throws {
    let compose = try PackageText.text("deploy/compose.yaml")
    let script = try PackageText.text("deploy/secrets")
    let names = compose.matches(of: /\{ file: \.secrets\/([a-z_]+) \}/).map { String($0.output.1) }
    #expect(names.count >= 4)
    for name in names {
      let isMade = ["keep", "certificate"].contains { script.contains("\n\($0) \(name) ") } || name == "ca"
      #expect(isMade, "\(name)")
      #expect(compose.contains("/run/secrets/\(name)"), "\(name)")
    }
    for service in try ComposeService.all() {
      let used = service.lines.flatMap { $0.matches(of: /\/run\/secrets\/([a-z_]+)/).map(\.output.1) }
      let given = (service.value("secrets") ?? "[]").dropFirst().dropLast().split(separator: ", ")
      #expect(Set(given).isSuperset(of: used), "\(service.name)")
    }
  }

  @Test("Each program logs in to the database under its own name, migrations alone as the owner")
  func logins() throws {
    var users: [String: String] = [:]
    for service in try ComposeService.all() {
      users[service.name] = service.lines.lazy
        .compactMap { $0.firstMatch(of: /^HANDBILL_DATABASE_URL_FILE: \/run\/secrets\/database_url(?:_([a-z_]+))?$/) }
        .first.map { String($0.output.1 ?? "owner") }
    }
    let expected = [
      "migrate": "owner", "handbill": "command", "seed": "command", "ad-selection": "ad_selection",
      "impression-tracking": "impression_tracking", "click-tracking": "click_tracking", "billing": "billing",
      "console": "console",
    ]
    #expect(users == expected)
  }

  @Test("Each program proves its own name to Kafka, and addresses of the database ask for TLS")
  func certificates() throws {
    var users: [String: String] = [:]
    for service in try ComposeService.all() where service.settings.contains("HANDBILL_KAFKA_BOOTSTRAP_SERVERS") {
      let properties = try #require(service.value("HANDBILL_KAFKA_PROPERTIES"), "\(service.name)")
      let match = try #require(
        properties.wholeMatch(
          of:
            /security\.protocol=SSL,ssl\.ca\.location=\/run\/secrets\/ca,ssl\.certificate\.location=(\S+),ssl\.key\.location=(\S+)/
        ))
      #expect(match.output.1 == match.output.2)
      users[service.name] = String(match.output.1.dropFirst("/run/secrets/kafka_".count))
    }
    let expected = [
      "acls": "admin", "topics": "command", "demo-topics": "command", "handbill": "command", "devices": "edge",
      "edge": "edge",
      "ad-selection": "ad_selection", "impression-tracking": "impression_tracking", "click-tracking": "click_tracking",
      "billing": "billing", "console": "console",
    ]
    #expect(users == expected)
    let addresses = try PackageText.text("deploy/secrets")
    #expect(addresses.contains("sslmode=verify-full&sslrootcert=/run/secrets/ca"))
  }

  @Test("Whatever writes under the network's keys is given them")
  func keys() throws {
    let given = try ComposeService.all().filter {
      $0.lines.contains("HANDBILL_TOKEN_KEYS_FILE: /run/secrets/token_keys")
    }
    let names = ["ad-selection", "impression-tracking", "click-tracking", "billing", "edge", "console", "handbill"]
    #expect(Set(given.map(\.name)) == Set(names))
  }

  @Test("No secret is sent to a build: what deploy/secrets makes is left out, in whatever folder")
  func buildContext() throws {
    let left = try PackageText.text(".dockerignore").split(separator: "\n").map(String.init)
    #expect(left.contains("**/.secrets"))
    #expect(!left.contains { $0.hasPrefix("!") })
    #expect(try PackageText.text("deploy/secrets").contains(".secrets"))
  }

  @Test("Prometheus asks every instance of a service where compose.yaml runs it, and an alert misses the last one")
  func targets() throws {
    let scraped = try PackageText.text("deploy/prometheus/prometheus.yml")
    let alerts = try PackageText.text("deploy/prometheus/alerts.yml")
    for service in try ComposeService.all() where service.settings.contains("HANDBILL_ADMIN_ADDRESS") {
      let program = try #require(service.program)
      let target = "      - { names: [\(service.name)], type: A, port: 9400, refresh_interval: 5s }\n"
      #expect(scraped.contains("job_name: \(program)\n    dns_sd_configs:\n" + target), "\(service.name)")
      #expect(alerts.contains("or absent(up{job=\"\(program)\"})\n"), "\(service.name)")
    }
  }

  @Test(
    "Every setting is one that the program's --help lists",
    .enabled(if: ComposeService.areProgramsBuilt, "the programs are not built for debugging"))
  func settings() async throws {
    for service in try ComposeService.all() {
      guard let program = service.program else { continue }
      let help = try await onOwnThread { try Self.help(program, service) }
      let known = Set(help.matches(of: /HANDBILL_[A-Z_]+/).map { String($0.output) })
      for name in service.settings {
        let isKnown = known.contains(name) || name.hasSuffix("_FILE") && known.contains(String(name.dropLast(5)))
        #expect(isKnown, "\(service.name): \(name)")
      }
    }
  }

  /// `--help` of the program, or of each command that the container runs. The service `handbill` runs any of them.
  private static func help(_ program: String, _ service: ComposeService) throws -> String {
    var arguments: [String] = []
    if service.name == "handbill" {
      arguments = ["topics", "create"]
    } else if program == "handbill", let command = service.value("command") {
      arguments = command.dropFirst().dropLast().split(separator: ", ").map(String.init).prefix { !$0.hasPrefix("-") }
        .map { $0 }
    }
    var text = try run(program, arguments + ["--help"])
    if service.name == "handbill" {
      for command in [["reconcile"], ["catalog", "publish"]] {
        text += try run(program, command + ["--help"])
      }
    }
    return text
  }

  /// What it prints, by a file: help is longer than what is kept of a child's lines.
  private static func run(_ program: String, _ arguments: [String]) throws -> String {
    let folder = try TemporaryFolder()
    let path = folder.path + "/help"
    try ChildProcess.run(ChildProcess.Command("\(ComposeService.binaries)/\(program)", arguments, output: .file(path)))
    return try String(contentsOfFile: path, encoding: .utf8)
  }

  @Test("The images' file has a stage for each program, with its health check")
  func dockerfile() throws {
    let text = try PackageText.text("deploy/Dockerfile")
    for program in Self.programs {
      #expect(text.contains("FROM common AS \(program)\n"))
      #expect(text.contains("ENTRYPOINT [\"/usr/bin/\(program)\"]"))
      #expect(program == "handbill" || text.contains("CMD [\"/usr/bin/\(program)\", \"--healthcheck\"]"))
    }
    #expect(text.contains("FROM scratch AS common"))
    #expect(text.contains("USER 10001:10001"))
  }
}
