/// What no source may contain, and how long its parts may be.
enum TextRules {
  static let longestFileLines = 345
  static let longestFunctionLines = 56
  static let parametersMaximum = 7
  /// A record has eight fields, and making a row of them first would cost where every record passes.
  private static let wideFunctions = ["Shared/Kafka/KafkaProducer.swift"]

  /// A trap or an unchecked promise: banned everywhere, in tests too.
  private static let traps = ["fatalError(", "try!", "as!", "unsafeBitCast", "nonisolated(unsafe)"]
  /// Waiting by the clock for something that can tell when it is ready.
  private static let sleeps = ["Task.sleep", "usleep(", "nanosleep(", "Thread.sleep", "sleep("]
  /// Waiting by the clock that people set, and sleeps in disguise: what waits uses Shared/Threads.
  private static let disguisedWaits = [
    "Date(timeIntervalSinceNow", "Date().addingTimeInterval", "poll(nil", "wallDeadline", "DispatchWallTime",
    "pthread_cond_timedwait", "RunLoop",
  ]
  /// Threads, locks and waiting by hand, in products and tests: `OwnerThread`, `Monitor`, `StopRequest` and `Mailbox` of
  /// Shared/Threads are what there is.
  private static let handmadeWaits = [
    "DispatchSemaphore", "DispatchGroup", "NSCondition", "NSConditionLock", "NSLock", "NSRecursiveLock", "Thread {",
    "Thread(", "Thread.detachNewThread", "DispatchQueue.global", "pthread_create", "pthread_mutex_init",
    "pthread_cond_init", "pthread_rwlock_init", "sem_init",
  ]
  /// Gone in a release, where what may never be must still stop before it does harm.
  private static let assertions = ["assert(", "assertionFailure("]
  /// Types that cannot hold an amount of money exactly.
  private static let floatingPoint = ["Double", "Float", "Float16", "Float80", "CGFloat", "Decimal"]
  /// Put together, so that this file does not contain them.
  private static let openEnds = ["TO" + "DO", "FIX" + "ME"]
  private static let machinePaths = ["/wo" + "rk/", "/ho" + "me/", "/Us" + "ers/", "/ro" + "ot/", "/va" + "r/folders/"]

  static func traps(_ file: SourceFile) -> [String] { found(traps, in: file) }

  static func sleeps(_ file: SourceFile) -> [String] {
    file.path.hasPrefix("Shared/") || file.path.hasPrefix("Services/") ? found(sleeps, in: file) : []
  }

  static func disguisedWaits(_ file: SourceFile) -> [String] {
    file.path != "Shared/Threads/ConditionLock.swift" ? found(disguisedWaits, in: file) : []
  }

  static func handmadeWaits(_ file: SourceFile) -> [String] {
    file.path.hasPrefix("Shared/Threads/") ? [] : found(handmadeWaits, in: file)
  }

  static func assertions(_ file: SourceFile) -> [String] {
    file.path.hasPrefix("Shared/") || file.path.hasPrefix("Services/") ? found(assertions, in: file) : []
  }

  /// What a module shows of another one, the import says: `internal` for nothing.
  static func unlevelledImports(_ file: SourceFile) -> [String] {
    let isProduct = file.path.hasPrefix("Shared/") || file.path.hasPrefix("Services/")
    return isProduct && file.path.hasSuffix(".swift") ? file.importsWithoutLevel.map { "\(file.path):\($0)" } : []
  }

  static func floatingPoint(_ file: SourceFile) -> [String] {
    let isMoney =
      file.path.hasPrefix("Shared/AdBasics/Money/") || file.path.hasPrefix("Services/Billing/")
      || file.path.hasPrefix("Services/") && file.path.contains("/Core/")
    return isMoney ? found(floatingPoint, in: file) : []
  }

  static func lengths(_ file: SourceFile) -> [String] {
    let lines = file.lines.count
    let tooLong = lines > longestFileLines + 1 ? ["\(file.path): \(lines) lines"] : []
    return tooLong + file.functions(longerThan: longestFunctionLines)
  }

  static func parameters(_ file: SourceFile) -> [String] {
    wideFunctions.contains(file.path) ? [] : file.functions(withMoreParametersThan: parametersMaximum)
  }

  /// Files of the product whose folder holds nothing else: they belong one folder up.
  static func lonelyFiles(_ paths: [String]) -> [String] {
    let product = paths.filter { $0.hasPrefix("Shared/") || $0.hasPrefix("Services/") }
    return product.filter { path in
      let folder = path.split(separator: "/").dropLast().joined(separator: "/") + "/"
      return product.count { $0.hasPrefix(folder) } == 1
    }
  }

  static func openEnds(_ file: SourceFile) -> [String] { foundInText(openEnds, in: file) }

  static func machinePaths(_ file: SourceFile) -> [String] { foundInText(machinePaths, in: file) }

  private static func found(_ words: [String], in file: SourceFile) -> [String] {
    words.flatMap { word in file.codeLines(with: word).map { "\(file.path):\($0): \(word)" } }
  }

  private static func foundInText(_ words: [String], in file: SourceFile) -> [String] {
    words.flatMap { word in file.lines(with: word).map { "\(file.path):\($0): \(word)" } }
  }
}
