internal import Runtime
internal import Synchronization

/// The figures as they change: one line that is overwritten on a terminal, a new line every few seconds elsewhere.
final class LiveTable: Sendable {
  private struct State {
    var hasHeader = false
    var lastShownAt: Int?
  }

  private let isTerminal = Terminal.isTerminal(Terminal.standardOutput)
  private let state = Mutex(State())
  private static let columnWidth = 13
  private static let quietSeconds = 5

  /// Shows the figures of this second.
  func show(_ figures: LiveFigures, seconds: Int) {
    state.withLock { state in
      let isQuiet = !isTerminal && state.lastShownAt.map { seconds - $0 < Self.quietSeconds } ?? false
      if isQuiet { return }
      if !state.hasHeader { Terminal.print(Self.line(LiveFigures.columns)) }
      state.hasHeader = true
      state.lastShownAt = seconds
      let line = Self.line(figures.cells(seconds: seconds))
      if isTerminal { Terminal.write("\r" + line, to: Terminal.standardOutput) } else { Terminal.print(line) }
    }
  }

  /// What comes next begins on a line of its own.
  func finish() {
    state.withLock { state in
      guard isTerminal, state.hasHeader else { return }
      Terminal.print("")
      state.hasHeader = false
    }
  }

  private static func line(_ cells: [String]) -> String {
    cells.map { String(repeating: " ", count: max(0, columnWidth - $0.count)) + $0 }.joined()
  }
}
