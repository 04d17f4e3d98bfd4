import Testing

@testable import PipelineHost

@Suite struct FailpointTests {
  @Test("a failpoint is a place, and at which time of coming there the process ends")
  func text() {
    let armed = Failpoint.Armed("after-commit:kill@3")
    #expect(armed?.point == .afterCommit)
    #expect(armed?.time == 3)
  }

  @Test(
    "what is none is refused, so that no test passes because of a misspelt name",
    arguments: [
      "after-comit:kill@1", "after-commit:kill", "after-commit:kill@0", "after-commit@1", "after-commit:end@1", ":", "",
    ])
  func mistakes(_ text: String) {
    #expect(Failpoint.Armed(text) == nil)
  }

  @Test("without the variable every place is passed")
  func inert() {
    for place in Failpoint.allCases { Failpoint.reach(place) }
  }
}
