package import AdBasics

/// The way to the network: `.edge(url)` for devices, `.inMemory()` for an app's tests and previews, and, from the module
/// `AdClientKafka`, `.kafka(...)` for trusted servers. Any number of clients may be made with one.
public struct AdTransport: Sendable {
  /// What a transport is made with.
  package struct Context: Sendable {
    package let app: AppID
    package let appKey: String
    /// How long a request waits for its answer, in milliseconds.
    package let deadlineMilliseconds: Int64
    package let log: AdLog

    package init(app: AppID, appKey: String, deadlineMilliseconds: Int64, log: @escaping AdLog = { _ in }) {
      self.app = app
      self.appKey = appKey
      self.deadlineMilliseconds = deadlineMilliseconds
      self.log = log
    }
  }

  /// Starts the transport.
  package let make: @Sendable (Context) -> any NetworkTransport
  /// What ``AdStorage/standard`` comes to with it.
  package let storage: AdStorage

  package init(
    storage: AdStorage = .standard, _ make: @escaping @Sendable (Context) -> any NetworkTransport
  ) {
    self.make = make
    self.storage = storage
  }
}
