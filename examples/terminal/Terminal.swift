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
  /// How often the screen is drawn without a key, in nanoseconds.
  private static let frameNanoseconds = 100_000_000

  /// Runs a program until it is over, or standard input ends.
  public static func run(_ program: some TerminalProgram) async {
    let before = rawMode()
    defer { restore(before) }
    let (keys, sink) = AsyncStream<Character?>.makeStream()
    let reader = FileHandle.standardInput
    reader.readabilityHandler = { handle in
      let bytes = handle.availableData
      if bytes.isEmpty { sink.finish() }
      for byte in bytes { sink.yield(Character(Unicode.Scalar(byte))) }
    }
    let timer = DispatchSource.makeTimerSource()
    timer.schedule(deadline: .now(), repeating: .nanoseconds(frameNanoseconds))
    timer.setEventHandler { sink.yield(nil) }
    timer.activate()
    defer {
      timer.cancel()
      reader.readabilityHandler = nil
    }
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
