internal import AdBasics
internal import Dispatch

/// Brings what happens elsewhere (answers, images, the passing of time) to the actor that an ad object was made on
/// (D13), in order, and wakes the object when its state machine is due.
final class AdObjectPump {
  enum Input: Sendable {
    case answered(RequestResult, number: Int)
    case imagesFetched(Bool, number: Int)
    case coverFetched(Bool, number: Int)
    case wake
  }

  let inputs: AsyncStream<Input>
  private let continuation: AsyncStream<Input>.Continuation
  private var timer: (any DispatchSourceTimer)?
  private var timerDue: MonotonicTime?

  /// The most inputs that wait for the actor; an object has one request and one timer at a time.
  private static let inputsMaximum = 64
  /// An object looks at its state machine at least this often, should the timer's clock stand still in sleep.
  private static let wakeMillisecondsMaximum: Int64 = 3_600_000

  private let clock: AdTestClock?

  init(clock: AdTestClock?) {
    self.clock = clock
    (inputs, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(AdObjectPump.inputsMaximum))
  }

  deinit {
    timer?.cancel()
    clock?.setAlarm(of: ObjectIdentifier(self), at: nil) {}
    continuation.finish()
  }

  /// What brings an input here, from any thread.
  var sink: @Sendable (Input) -> Void {
    { [continuation] input in continuation.yield(input) }
  }

  /// Wakes the object at `due`; nil wakes it no more.
  func wake(at due: MonotonicTime?) {
    guard due != timerDue else { return }
    timerDue = due
    timer?.cancel()
    if let clock {
      return clock.setAlarm(of: ObjectIdentifier(self), at: due) { [continuation] in continuation.yield(.wake) }
    }
    guard let due else { return }
    let milliseconds = max(0, due.milliseconds(since: DeviceClock.monotonic))
    let timer = DispatchSource.makeTimerSource()
    timer.setEventHandler { [continuation] in continuation.yield(.wake) }
    timer.schedule(deadline: .now() + .milliseconds(Int(min(milliseconds, AdObjectPump.wakeMillisecondsMaximum))))
    timer.activate()
    self.timer = timer
  }

  /// The timer has fired; the next `wake(at:)` sets another, also for the same moment.
  func timerFired() { timerDue = nil }
}

extension AdObjectPump {
  /// Asks for an ad. The answer comes here; where the object is gone by then, the network is told so.
  ///
  /// - Returns: The request's id.
  func request(_ wish: AdSession.Wish, of session: AdSession, number: Int) -> UUIDv7 {
    session.request(wish) { [continuation] result in
      let answer = Input.answered(result, number: number)
      if case .terminated = continuation.yield(answer) { session.unheard(answer, placement: wish.placement) }
    }
  }
}

extension AdSession {
  /// Tells of an ad that came to an object that is gone: nobody will see it (D3).
  func unheard(_ input: AdObjectPump.Input, placement: PlacementID) {
    guard case .answered(.ad(let ad), _) = input else { return }
    var unseen = UnseenAds()
    let unloaded = AdReport(.unloaded, .ad(ad), at: now)
    for each in [unseen.before(unloaded), unloaded].compactMap(\.self) {
      report(each, placement: placement, requestID: nil)
    }
  }
}

/// Fetches what lies at a URL; false when it cannot be had (error 8).
public typealias ContentSource = @Sendable (_ url: String) async -> Bool

extension AdObjectPump {
  /// Fetches all images of an ad: the app's own source does, else the client; else they count as there, for the app's
  /// drawing fetches them.
  func fetchImages(_ ad: AdContent, from source: ContentSource?, or images: AdImages?, number: Int) {
    let sink = sink
    guard source != nil || images != nil else { return sink(.imagesFetched(true, number: number)) }
    Task {
      guard let source else { return sink(.imagesFetched(await images?.fetch(ad) ?? true, number: number)) }
      for url in ad.images.values {
        guard await source(url) else { return sink(.imagesFetched(false, number: number)) }
      }
      sink(.imagesFetched(true, number: number))
    }
  }

  /// Fetches what covers the app after a tap (D11).
  func fetchCover(_ destination: String, from source: @escaping ContentSource, number: Int) {
    Task { [sink] in sink(.coverFetched(await source(destination), number: number)) }
  }
}
