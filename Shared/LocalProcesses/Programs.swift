internal import Foundation

/// Our executables: those of one build lie in one folder.
package struct Programs: Sendable {
  /// Their folder.
  package let folder: String

  /// Those beside this program; beside the tests of a build where the program is one that runs tests.
  package static let own: Programs = {
    let own = URL(fileURLWithPath: ownPath).deletingLastPathComponent().path
    let tests = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().path
    let folders = [own, tests].map(Programs.init)
    return folders.first { $0.missing(among: ["handbill"]).isEmpty } ?? folders[0]
  }()

  /// The path of this program.
  package static var ownPath: String {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
  }

  private init(folder: String) { self.folder = folder }

  /// Where a program lies, by a name such as `handbill-billing`.
  package func path(_ name: String) -> String { "\(folder)/\(name)" }

  /// Those of `names` that are not built.
  package func missing(among names: [String]) -> [String] {
    names.filter { !FileManager.default.isExecutableFile(atPath: path($0)) }
  }
}
