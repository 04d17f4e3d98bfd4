import Testing

@testable import Runtime

@Suite("Configuration")
struct ConfigurationTests {
  private static let port = ConfigurationKey<Int>.integer(
    "HANDBILL_TEST_PORT", in: 1...100, unit: "ports", default: 7, help: "A port.")
  private static let name = ConfigurationKey<String>.text("HANDBILL_TEST_NAME", help: "A name.")
  private static let password = ConfigurationKey<String>.text(
    "HANDBILL_TEST_PASSWORD", bytesMaximum: 8, isSecret: true, help: "A password.")
  private static let wait = ConfigurationKey<Int>.milliseconds(
    "HANDBILL_TEST_WAIT", in: 10...60_000, default: 500, help: "A wait.")
  private static let flag = ConfigurationKey<Bool>.flag("HANDBILL_TEST_FLAG", default: false, help: "A flag.")

  private func read<Value>(
    _ key: ConfigurationKey<Value>, _ environment: [String: String], commandLine: [String: String] = [:],
    files: [String: String] = [:]
  ) throws(ConfigurationProblems) -> Value {
    let readFile: (String) -> String? = { files[$0] }
    return try ConfigurationReader.read(commandLine: commandLine, environment: environment, readFile: readFile) {
      $0.value(key)
    }
  }

  @Test("command line before environment before secrets file before default")
  func order() throws {
    let files = ["/secret": "4\n"]
    let file = ["HANDBILL_TEST_PORT_FILE": "/secret"]
    let both = file.merging(["HANDBILL_TEST_PORT": "3"]) { $1 }
    #expect(try read(Self.port, [:]) == 7)
    #expect(try read(Self.port, file, files: files) == 4)
    #expect(try read(Self.port, both, files: files) == 3)
    #expect(try read(Self.port, both, commandLine: ["test-port": "2"], files: files) == 2)
  }

  @Test("all problems are reported together, each with its key")
  func allProblems() {
    let environment = ["HANDBILL_TEST_PORT": "101", "HANDBILL_TEST_WAIT": "5x", "HANDBILL_TEST_FLAG": "perhaps"]
    let error = #expect(throws: ConfigurationProblems.self) {
      try ConfigurationReader.read(environment: environment) { reader in
        _ = reader.value(Self.port)
        _ = reader.value(Self.name)
        _ = reader.value(Self.wait)
        _ = reader.value(Self.flag)
      }
    }
    #expect(
      error?.problems.map(\.key) == [
        "HANDBILL_TEST_PORT", "HANDBILL_TEST_NAME", "HANDBILL_TEST_WAIT", "HANDBILL_TEST_FLAG",
      ])
    #expect(error?.description.contains("1 to 100 ports") == true)
    #expect(error?.description.contains("101") == true)
  }

  @Test("a range includes its ends and nothing beyond", arguments: [("0", nil), ("1", 1), ("100", 100), ("101", nil)])
  func range(text: String, expected: Int?) {
    #expect((try? read(Self.port, ["HANDBILL_TEST_PORT": text])) == expected)
  }

  @Test(
    "what is no whole number is refused", arguments: ["", " ", "1.0", "0x1", "1e2", "99999999999999999999", "١", "1 "])
  func notNumbers(text: String) {
    #expect(throws: ConfigurationProblems.self) { try read(Self.port, [:], commandLine: ["test-port": text]) }
  }

  @Test("a secret is never printed, not even when it is wrong")
  func secrets() {
    for environment in [
      ["HANDBILL_TEST_PASSWORD": "hunter2-too-long"], ["HANDBILL_TEST_PASSWORD": "hunter2\u{7}"],
    ] {
      let error = #expect(throws: ConfigurationProblems.self) { try read(Self.password, environment) }
      #expect(error?.description.contains("hunter2") == false)
      #expect(error?.description.contains("HANDBILL_TEST_PASSWORD") == true)
    }
  }

  @Test("a secrets file that cannot be read is one problem, not two")
  func unreadableFile() {
    let error = #expect(throws: ConfigurationProblems.self) {
      try read(Self.password, ["HANDBILL_TEST_PASSWORD_FILE": "/absent"])
    }
    #expect(error?.problems.count == 1)
  }

  @Test(
    "durations in the units people write",
    arguments: [("10", 10), ("250ms", 250), ("5s", 5_000), ("1m", 60_000), ("2m", nil), ("-5s", nil), ("s", nil)])
  func durations(text: String, expected: Int?) {
    #expect((try? read(Self.wait, ["HANDBILL_TEST_WAIT": text])) == expected)
  }

  @Test("a duration too large for a machine word is refused")
  func hugeDuration() {
    #expect(DurationText.milliseconds("9223372036854775807d") == nil)
  }

  @Test("the plain names of Kafka and the database count as well, after ours")
  func plainNames() throws {
    let plain = ["KAFKA_BOOTSTRAP_SERVERS": "plain:1", "DATABASE_URL": "postgres://plain"]
    #expect(try read(CommonKeys.kafkaBootstrapServers, plain) == "plain:1")
    #expect(try read(CommonKeys.databaseURL, plain) == "postgres://plain")
    let both = plain.merging(["HANDBILL_KAFKA_BOOTSTRAP_SERVERS": "ours:1"]) { $1 }
    #expect(try read(CommonKeys.kafkaBootstrapServers, both) == "ours:1")
  }

  @Test("a database URL of another scheme is refused without showing its password")
  func databaseScheme() {
    let error = #expect(throws: ConfigurationProblems.self) {
      try read(CommonKeys.databaseURL, ["DATABASE_URL": "mysql://u:hunter2@h"])
    }
    #expect(error?.description.contains("hunter2") == false)
    #expect(error?.description.contains("postgresql://") == true)
  }

  @Test("an optional key without a value is nil, with a wrong one a problem")
  func optionalKeys() throws {
    #expect(try read(Self.name.optional(), [:]) == nil)
    #expect(try read(Self.name.optional(), ["HANDBILL_TEST_NAME": "x"]) == "x")
    #expect(throws: ConfigurationProblems.self) { try read(Self.port.optional(), ["HANDBILL_TEST_PORT": "x"]) }
  }

  @Test("a misspelt variable is found, with what was meant")
  func misspelt() {
    let reader = ConfigurationReader(environment: ["HANDBILL_TEST_PROT": "1", "OTHER": "x"])
    let unknown = reader.unknownNames(declared: [Self.port.declaration])
    #expect(unknown.map(\.name) == ["HANDBILL_TEST_PROT"])
    #expect(unknown.first?.nearest == "HANDBILL_TEST_PORT")
  }

  @Test("help names the key, its option, range, default and file")
  func help() {
    let text = Self.port.declaration.helpText + Self.password.declaration.helpText
    for part in [
      "HANDBILL_TEST_PORT", "--test-port", "1 to 100 ports", "default: 7", "required", "HANDBILL_TEST_PASSWORD_FILE",
    ] {
      #expect(text.contains(part), "\(part)")
    }
  }
}
