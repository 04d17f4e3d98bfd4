package import AdCore

extension TimelineID {
  /// A timeline for tests.
  package static let sample = sample(1)

  /// Different ones of different numbers, below 10.
  package static func sample(_ number: Int) -> TimelineID {
    TimelineID("00000000-0000-4000-8000-00000000000\(number % 10)") ?? sample(0)
  }
}
