#if FUZZING
  import CFuzzer
  import FuzzTargets
  import Glibc
  import Runtime

  /// libFuzzer, in the build that counts every branch taken: only `make fuzz` makes it.
  enum FuzzerEntry {
    /// The target that the environment names: the arguments are libFuzzer's.
    fileprivate static let target = unsafe FuzzTarget.named(
      getenv("FUZZ_TARGET").map { unsafe String(cString: $0) } ?? "")

    /// Whether this process is to be the fuzzer, and not the command.
    static var isWanted: Bool { unsafe getenv("FUZZ_TARGET") != nil }

    static func run() -> Never {
      guard target != nil else {
        Terminal.note("FUZZ_TARGET must be one of \(FuzzTarget.all.map(\.name).joined(separator: ", "))")
        exit(ExitCode.usage.rawValue)
      }
      var count = CommandLine.argc
      var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = unsafe CommandLine.unsafeArgv
      unsafe exit(LLVMFuzzerRunDriver(&count, &arguments) { bytes, count in unsafe testOneInput(bytes, count) })
    }
  }

  /// The name under which the library looks for it as well.
  @_cdecl("LLVMFuzzerTestOneInput")
  public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    guard let target = FuzzerEntry.target,
      let fault = unsafe target.fault(UnsafeRawBufferPointer(start: bytes, count: count))
    else { return 0 }
    Terminal.note("\(target.name): \(fault)")
    // libFuzzer keeps the input when the process aborts.
    abort()
  }
#endif
