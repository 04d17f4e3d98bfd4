import PipelineHost
import Runtime
import Testing

@Suite("Retention")
struct RetentionTests {
  private func read(_ environment: [String: String]) throws(ConfigurationProblems) -> Retention {
    try ConfigurationReader.read(environment: environment) { Retention(reader: &$0) }
  }

  @Test("counts are kept by the day for as long as by the hour at least, or it is said what is too few")
  func days() throws {
    #expect(try read([:]) == Retention())
    #expect(Retention().dayDays == 1_100)
    #expect(try read(["HANDBILL_HOUR_DAYS": "500", "HANDBILL_DAY_DAYS": "500"]).dayDays == 500)
    for environment in [
      ["HANDBILL_HOUR_DAYS": "1101"], ["HANDBILL_HOUR_DAYS": "1101", "HANDBILL_DAY_DAYS": "1100"],
    ] {
      let error = #expect(throws: ConfigurationProblems.self) { try read(environment) }
      #expect(error?.problems.map(\.key) == ["HANDBILL_DAY_DAYS"])
      #expect(error?.problems.first?.reason.contains("at least HANDBILL_HOUR_DAYS, 1101") == true)
    }
  }
}
