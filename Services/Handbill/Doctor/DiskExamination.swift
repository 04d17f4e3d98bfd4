internal import Foundation

/// How much room is left on disks of this machine.
enum DiskExamination {
  private static let freePercentMinimum: Int64 = 10

  static func findings(_ paths: [String]) -> [Finding] {
    paths.map { path in
      guard let attributes = try? FileManager.default.attributesOfFileSystem(forPath: path),
        let size = (attributes[.systemSize] as? NSNumber)?.int64Value,
        let free = (attributes[.systemFreeSize] as? NSNumber)?.int64Value, size > 0
      else { return .unknown("disk", path, "it is not to be seen from here") }
      return judge(path, freeBytes: free, sizeBytes: size)
    }
  }

  static func judge(_ path: String, freeBytes: Int64, sizeBytes: Int64) -> Finding {
    let percent = freeBytes / max(1, sizeBytes / 100)
    return .judged(
      "disk", path, "\(freeBytes >> 30) GiB free, \(percent) %", isGood: percent >= freePercentMinimum,
      "make room: lower retention, or add disk (docs/runbooks.md, DiskFilling)")
  }
}
