import LocalProcesses

/// The Python of the conformance tests, with the packages of `Tests/Conformance/requirements.txt`.
package enum ConformancePython {
  private static let timeoutMilliseconds = 300_000

  /// The program's path; nil where its environment cannot be made (no network, no pip).
  package static let path = try? ChildProcess.run(
    .init(PackageRoot.path("Tests/Conformance/venv"), []), timeoutMilliseconds: timeoutMilliseconds
  ).last
}
