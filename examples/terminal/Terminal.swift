import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A program that shows itself as lines of text and is used by keys.
@MainActor
public protocol TerminalProgram: AnyObject {
  /// What there is to see now.
  var screen: String { get }
  /// True once it has ended.
  var isOver: Bool { get }
  func press(_ key: Character)
}

/// The terminal: shows a program, and gives it the keys that are pressed.
@MainActor
public enum Terminal {
  /// How often keys are looked for and the screen is drawn, in milliseconds.
  private static let frameMilliseconds = 30

  /// Runs a program until it is over, or standard input ends.
  public static func run(_ program: some TerminalProgram) async {
    let before = rawMode()
    defer { restore(before) }
    let (keys, sink) = AsyncStream<Character?>.makeStream()
    let timer = DispatchSource.makeTimerSource()
    timer.schedule(deadline: .now(), repeating: .milliseconds(frameMilliseconds))
    timer.setEventHandler {
      guard let pressed = pressed() else { return sink.finish() }
      for byte in pressed { sink.yield(Character(Unicode.Scalar(byte))) }
      sink.yield(nil)
    }
    timer.activate()
    defer { timer.cancel() }
    var shown = ""
    for await key in keys {
      if let key { program.press(key) }
      if program.isOver { break }
      let screen = program.screen
      if screen != shown { write("\u{1B}[H\u{1B}[2J" + screen) }
      shown = screen
    }
    write("\u{1B}[H\u{1B}[2J")
  }

  /// What was pressed since; nil where standard input has ended, be it a terminal, a pipe or a file.
  nonisolated private static func pressed() -> [UInt8]? {
    var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
    guard poll(&input, 1, 0) > 0 else { return [] }
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = read(STDIN_FILENO, &bytes, bytes.count)
    return count > 0 ? Array(bytes.prefix(count)) : nil
  }

  private static func write(_ text: String) {
    FileHandle.standardOutput.write(Data(text.replacingOccurrences(of: "\n", with: "\r\n").utf8))
  }

  /// Keys come one by one, unseen; nil where standard input is no terminal.
  private static func rawMode() -> termios? {
    var before = termios()
    guard tcgetattr(STDIN_FILENO, &before) == 0 else { return nil }
    var raw = before
    raw.c_lflag &= ~tcflag_t(ICANON | ECHO)
    tcsetattr(STDIN_FILENO, TCSANOW, &raw)
    return before
  }

  private static func restore(_ before: termios?) {
    guard var before else { return }
    tcsetattr(STDIN_FILENO, TCSANOW, &before)
  }
}
