internal import Foundation
internal import Glibc

/// Starts processes: the part of `ChildProcess` that speaks to the system.
enum Spawn {
  /// The read end of a captured output, and the file that gets a copy.
  struct Reader: Sendable {
    let descriptor: Int32
    let copy: Int32?
  }

  struct Started: Sendable {
    let processIdentifier: Int32
    let inputPipe: Int32?
    let readers: [Reader]
  }

  /// The descriptors of one start, on this side and on the child's.
  private struct Descriptors {
    var child: [Int32] = []
    var inputPipe: Int32?
    var readers: [Reader] = []

    func closeChildSide() {
      for descriptor in child where descriptor > STDERR_FILENO { close(descriptor) }
    }

    func closeOwnSide() {
      if let inputPipe { close(inputPipe) }
      for reader in readers {
        close(reader.descriptor)
        if let copy = reader.copy { close(copy) }
      }
    }
  }

  /// Starts a command; what must happen on the thread that lives as long as the process happens there.
  static func start(_ command: ChildProcess.Command) throws -> Started {
    var descriptors = Descriptors()
    defer { descriptors.closeChildSide() }
    do {
      try open(command, &descriptors)
      let child = descriptors.child
      let words = try commandLine(command)
      let environment = environmentLines(command.environment)
      let result = SpawnThread.shared.run { spawn(words, environment, descriptors: child) }
      return Started(
        processIdentifier: try result.get(), inputPipe: descriptors.inputPipe, readers: descriptors.readers)
    } catch {
      descriptors.closeOwnSide()
      throw error
    }
  }

  /// The words that are really started.
  ///
  /// `setpriv` (in Debian's essential util-linux) makes the kernel signal the child when this process dies; the shell
  /// that it becomes sees whether that happened before the kernel was told, and then becomes the program itself. So the
  /// process id stays the same from beginning to end.
  private static func commandLine(_ command: ChildProcess.Command) throws -> [String] {
    guard let signal = signalNames[command.signalWhenParentDies] else {
      throw SupervisionError.system(operation: "signal \(command.signalWhenParentDies) for a dead parent", code: EINVAL)
    }
    var words = ["setpriv", "--pdeathsig", signal]
    if let user = command.user {
      guard let group = SystemUser(named: user)?.groupIdentifier else {
        throw SupervisionError.unavailable(what: "the user \(user)", hint: "it does not exist on this machine")
      }
      words += ["--reuid", user, "--regid", String(group), "--init-groups"]
    }
    words += ["--", "/bin/sh", "-c", lastSteps, String(getpid()), command.workingDirectory ?? "."]
    return words + [command.executable] + command.arguments
  }

  private static let lastSteps =
    #"[ "$PPID" = "$0" ] || exit 125; cd -- "$1" || exit 126; shift; exec "$@""#

  private static let signalNames: [Int32: String] = [
    SIGKILL: "KILL", SIGTERM: "TERM", SIGINT: "INT", SIGQUIT: "QUIT", SIGHUP: "HUP",
  ]

  private static func environmentLines(_ changes: [String: String?]) -> [String] {
    var environment = ProcessInfo.processInfo.environment
    for (name, value) in changes { environment[name] = value }
    return environment.map { "\($0.key)=\($0.value)" }.sorted()
  }

  private static func open(_ command: ChildProcess.Command, _ descriptors: inout Descriptors) throws {
    switch command.input {
    case .empty: descriptors.child.append(try open("/dev/null", O_RDONLY))
    case .file(let path): descriptors.child.append(try open(path, O_RDONLY))
    case .pipe:
      let ends = try pipe()
      descriptors.child.append(ends.read)
      descriptors.inputPipe = ends.write
    }
    for (output, own) in [(command.output, STDOUT_FILENO), (command.errorOutput, STDERR_FILENO)] {
      switch output {
      case .discarded: descriptors.child.append(try open("/dev/null", O_WRONLY))
      case .inherited: descriptors.child.append(own)
      case .file(let path): descriptors.child.append(try open(path, O_WRONLY | O_CREAT | O_APPEND))
      case .lines(let path):
        let copy = try path.map { try open($0, O_WRONLY | O_CREAT | O_APPEND) }
        let ends = try pipe()
        descriptors.child.append(ends.write)
        descriptors.readers.append(Reader(descriptor: ends.read, copy: copy))
      }
    }
  }

  private static func open(_ path: String, _ flags: Int32) throws -> Int32 {
    let descriptor = unsafe Glibc.open(path, flags | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw SupervisionError.system(operation: "opening \(path)", code: errno) }
    return descriptor
  }

  private static func pipe() throws -> (read: Int32, write: Int32) {
    var ends: [Int32] = [-1, -1]
    guard unsafe Glibc.pipe(&ends) == 0 else { throw SupervisionError.system(operation: "making a pipe", code: errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  private static func spawn(
    _ words: [String], _ environment: [String], descriptors: [Int32]
  ) -> Result<Int32, SupervisionError> {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for (target, source) in descriptors.enumerated() {
      unsafe posix_spawn_file_actions_adddup2(&actions, source, Int32(target))
    }
    // Nothing but its three descriptors reaches the child, whatever a library has left open.
    for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
      if let open = Int32(name), open > STDERR_FILENO { unsafe posix_spawn_file_actions_addclose(&actions, open) }
    }

    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var noSignals = sigset_t()
    unsafe sigemptyset(&noSignals)
    var allSignals = sigset_t()
    unsafe sigfillset(&allSignals)
    unsafe posix_spawnattr_setsigmask(&attributes, &noSignals)
    unsafe posix_spawnattr_setsigdefault(&attributes, &allSignals)
    unsafe posix_spawnattr_setpgroup(&attributes, 0)
    let flags = Int32(POSIX_SPAWN_SETPGROUP) | Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF)
    unsafe posix_spawnattr_setflags(&attributes, Int16(flags))

    var arguments: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) } + [nil]
    var variables: [UnsafeMutablePointer<CChar>?] = unsafe environment.map { unsafe strdup($0) } + [nil]
    defer {
      for index in unsafe arguments.indices { unsafe free(arguments[index]) }
      for index in unsafe variables.indices { unsafe free(variables[index]) }
    }
    var processIdentifier: pid_t = 0
    let code = unsafe posix_spawnp(&processIdentifier, words[0], &actions, &attributes, &arguments, &variables)
    guard code == 0 else { return .failure(.system(operation: "starting \(words.last ?? "")", code: code)) }
    return .success(processIdentifier)
  }
}

/// A user of this machine.
struct SystemUser: Sendable {
  let userIdentifier: uid_t
  let groupIdentifier: gid_t

  /// Nil when there is no such user.
  init?(named name: String) {
    var record = unsafe passwd()
    var found: UnsafeMutablePointer<passwd>?
    var buffer = [CChar](repeating: 0, count: 16_384)
    guard unsafe getpwnam_r(name, &record, &buffer, buffer.count, &found) == 0, unsafe found != nil else { return nil }
    userIdentifier = unsafe record.pw_uid
    groupIdentifier = unsafe record.pw_gid
  }
}
