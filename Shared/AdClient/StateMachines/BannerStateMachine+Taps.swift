/// Taps and actions (D7 to D9).
extension BannerStateMachine {
  /// The user tapped the banner. Only an ad that is on screen can be tapped.
  package mutating func tap(at now: MonotonicTime) -> [BannerAction] {
    var actions = advance(to: now)
    guard life == .inUse, effectiveFraction > 0, case .loaded(let ad, _, _) = content else { return actions }
    append(tapMachine.tap(ad, at: now), at: now, &actions)
    return actions
  }

  /// The app's answer to `askShouldBegin` (D7).
  package mutating func decide(shouldBegin: Bool, at now: MonotonicTime) -> [BannerAction] {
    var actions = advance(to: now)
    append(tapMachine.decide(shouldBegin: shouldBegin, at: now), at: now, &actions)
    visibilityChanged(isExcused: true, at: now, &actions)
    endLifeIfIdle(at: now, &actions)
    return actions + advance(to: now)
  }

  /// Whether what covers the app came that `fetchCover` of this number asked for (D11). Without it the ad is worth
  /// nothing: it is given up.
  package mutating func coverFetched(_ succeeded: Bool, number: Int, at now: MonotonicTime) -> [BannerAction] {
    var actions = advance(to: now)
    append(tapMachine.coverFetched(succeeded, number: number, at: now), at: now, &actions)
    visibilityChanged(isExcused: true, at: now, &actions)
    endLifeIfIdle(at: now, &actions)
    return actions + advance(to: now)
  }

  mutating func tapIsDue(at due: MonotonicTime, _ actions: inout [BannerAction]) {
    append(tapMachine.advance(to: due), at: due, &actions)
    endLifeIfIdle(at: due, &actions)
  }

  /// The user closed what covered the app.
  package mutating func actionFinished(at now: MonotonicTime) -> [BannerAction] { actionEnded(.finished, at: now) }

  /// The user followed the covering ad into another application; the app's background follows (D8).
  package mutating func actionLeftApplication(at now: MonotonicTime) -> [BannerAction] {
    actionEnded(.leftApplication, at: now)
  }

  /// The app cancels the action: a banner's finish is told all the same (D9).
  package mutating func cancelAction(at now: MonotonicTime) -> [BannerAction] { actionEnded(.cancelled, at: now) }

  private mutating func actionEnded(_ end: TapStateMachine.End, at now: MonotonicTime) -> [BannerAction] {
    var actions = advance(to: now)
    endAction(end, at: now, &actions)
    return actions + advance(to: now)
  }

  mutating func endAction(_ end: TapStateMachine.End, at now: MonotonicTime, _ actions: inout [BannerAction]) {
    guard tapMachine.isActing else { return }
    append(tapMachine.end(end, at: now), at: now, &actions)
    visibilityChanged(isExcused: true, at: now, &actions)
    endLifeIfIdle(at: now, &actions)
  }

  /// Turns the tap's outputs into the banner's: whoever is uncovered is told so at once (D8, D9).
  private mutating func append(
    _ outputs: [TapStateMachine.Output], at now: MonotonicTime, _ actions: inout [BannerAction]
  ) {
    for output in outputs {
      switch output {
      case .askShouldBegin(let willLeave): actions.append(.askShouldBegin(willLeaveApplication: willLeave))
      case .fetchCover(let destination, let number):
        actions.append(.fetchCover(destination: destination, number: number))
      case .cover(let destination): actions.append(.cover(destination: destination))
      case .leaveApplication(let destination): actions.append(.leaveApplication(destination: destination))
      case .uncover: actions += [.uncover, .tell(.actionDidFinish)]
      case .returned: actions.append(.tell(.actionDidFinish))
      case .failed(let error, let ad): fail(error, about: .ad(ad), at: now, &actions)
      case .report(let report): actions.append(.report(report))
      }
    }
  }
}
