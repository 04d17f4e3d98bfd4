/// A title and the size below it, in a frame.
struct Layout {
  let title: String
  let width: Int
  let height: Int

  private static let background: UInt8 = 0
  private static let letters: UInt8 = 1
  private static let border: UInt8 = 2
  /// From this height on the title goes over several lines, in pixels.
  private static let tallHeight = 200
  /// About how many letters such a line has.
  private static let lineLetters = 10

  private var frame: Int { max(1, min(width, height) / 50) }

  /// From top to bottom.
  var bands: [PNG.Band] {
    let lines = lines
    let scale = lines.map { self.scale($0, widthPercent: 90, heightPercent: 44 / lines.count) }.min() ?? 1
    let size = "\(width)x\(height)"
    let sizeScale = min(max(1, scale / 2), self.scale(size, widthPercent: 60, heightPercent: 28))
    let gap = max(2, height / 12)
    let used = Font.height * (scale * lines.count + sizeScale) + gap * lines.count + 2 * frame
    let rest = max(0, height - used)
    let edge = PNG.Band(pixels: [UInt8](repeating: Self.border, count: width), rowCount: frame)
    return [edge, empty(rest / 2)] + lines.flatMap { text($0, scale) + [empty(gap)] } + text(size, sizeScale)
      + [empty(rest - rest / 2), edge]
  }

  /// The title's words, over as many lines as its place has room for.
  private var lines: [String] {
    guard height >= Self.tallHeight else { return [title] }
    return title.split(separator: " ").reduce(into: []) { lines, word in
      guard let last = lines.last, last.count + word.count < Self.lineLetters else { return lines.append(String(word)) }
      lines[lines.count - 1] = "\(last) \(word)"
    }
  }

  /// How large letters may be, in pixels for a point.
  private func scale(_ text: String, widthPercent: Int, heightPercent: Int) -> Int {
    max(1, min(width * widthPercent / 100 / Font.width(of: text), height * heightPercent / 100 / Font.height))
  }

  private func empty(_ rowCount: Int) -> PNG.Band { PNG.Band(pixels: pixels([], 1), rowCount: rowCount) }

  private func text(_ text: String, _ scale: Int) -> [PNG.Band] {
    (0..<Font.height).map { PNG.Band(pixels: pixels(Font.row($0, of: text), scale), rowCount: scale) }
  }

  /// A row with `points` in its middle.
  private func pixels(_ points: [Bool], _ scale: Int) -> [UInt8] {
    var row = [UInt8](repeating: Self.background, count: width)
    let left = max(0, (width - points.count * scale) / 2)
    for (index, isSet) in points.enumerated() where isSet {
      for column in left + index * scale..<left + (index + 1) * scale where column < width {
        row[column] = Self.letters
      }
    }
    for column in 0..<min(frame, width) {
      row[column] = Self.border
      row[width - 1 - column] = Self.border
    }
    return row
  }
}
