internal import Foundation
internal import Glibc
internal import Runtime
internal import Synchronization

/// The places at which a test may end a service of the pipeline, all of them.
///
/// `HANDBILL_FAILPOINT=NAME:kill@3` ends the process like a power cut when it comes to the point NAME for the third time.
/// Only the environment sets it. Without the variable, coming to a point costs one comparison.
package enum Failpoint: String, CaseIterable, Sendable {
  /// A partition's epoch is raised, so that whoever had it is fenced, and nothing is loaded yet.
  case afterFence = "after-fence"
  /// The state of a partition is being loaded.
  case duringLoad = "during-load"
  /// A batch is decided in memory, and its transaction has not begun.
  case afterDecide = "after-decide"
  /// The rows of a batch are copied, and COMMIT is not sent.
  case beforeCommit = "before-commit"
  /// A batch is committed, and what it made is not published.
  case afterCommit = "after-commit"
  /// What was published was delivered, and that is not recorded yet.
  case afterPublish = "after-publish"
  /// The service was told to stop and reads no more; its batches are decided, and its worker has yet to let go of the
  /// database.
  case duringStop = "during-stop"

  /// The variable that sets one.
  package static let variable = "HANDBILL_FAILPOINT"

  /// One point, and at which time of coming there the process ends, from 1.
  struct Armed: Equatable, Sendable {
    let point: Failpoint
    let time: Int

    /// Reads `after-commit:kill@3`; nil for anything else.
    init?(_ text: String) {
      let parts = text.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count == 2, let point = Failpoint(rawValue: String(parts[0])) else { return nil }
      let words = parts[1].split(separator: "@", omittingEmptySubsequences: false)
      guard words.count == 2, words[0] == "kill", let time = Int(words[1]), time > 0 else { return nil }
      self.point = point
      self.time = time
    }
  }

  private static let armed: Armed? = {
    guard let text = ProcessInfo.processInfo.environment[variable], !text.isEmpty else { return nil }
    guard let armed = Armed(text) else {
      // A test that means to break something must not pass because of a misspelt name.
      Terminal.note(
        "\(variable)=\(text) is none: NAME:kill@TIME, with one of the names "
          + allCases.map(\.rawValue).joined(separator: ", "))
      _exit(ExitCode.configuration.rawValue)
    }
    Terminal.note("\(variable)=\(text): this process will end by itself")
    return armed
  }()
  private static let count = Atomic(0)

  /// This thread is at `point`.
  @inline(__always)
  static func reach(_ point: Failpoint) {
    if let armed, armed.point == point { act(armed) }
  }

  private static func act(_ armed: Armed) {
    guard count.wrappingAdd(1, ordering: .relaxed).newValue == armed.time else { return }
    // To this very thread, so that it does not go one step further before the whole process ends.
    pthread_kill(pthread_self(), SIGKILL)
  }
}
