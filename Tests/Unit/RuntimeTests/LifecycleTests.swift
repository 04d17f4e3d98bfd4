import Foundation
import HTTP
import Synchronization
import TestServices
import TestValues
import Testing
import Threads

@testable import Runtime

@Suite("Life cycle")
struct LifecycleTests {
  private let logger = Logger(name: "t", service: "s", format: .json, sink: CapturingSink())

  @Test("parts stop in the reverse order of their start, once")
  func order() {
    let stopped = Mutex<[String]>([])
    let lifeCycle = LifeCycle(logger: logger)
    for name in ["database", "producer", "consumer"] {
      lifeCycle.onStop(name) { stopped.withLock { $0.append(name) } }
    }
    #expect(lifeCycle.stopAll(timeoutMilliseconds: 10_000))
    #expect(lifeCycle.stopAll(timeoutMilliseconds: 10_000))
    #expect(stopped.withLock { $0 } == ["consumer", "producer", "database"])
  }

  @Test("a part that does not stop is left behind when the time is over, and named")
  func timeLimit() {
    let sink = CapturingSink()
    let lifeCycle = LifeCycle(logger: Logger(name: "t", service: "s", format: .json, sink: sink))
    let release = StopRequest()
    lifeCycle.onStop("never reached") {}
    lifeCycle.onStop("stuck") { release.wait() }
    #expect(!lifeCycle.stopAll(timeoutMilliseconds: 20))
    #expect(sink.lines.contains { $0.contains("\"part\":\"stuck\"") })
    release.make()
  }

  @Test("the first reason to stop decides the exit code")
  func firstReason() {
    let lifeCycle = LifeCycle(logger: logger)
    lifeCycle.requestStop("database is gone", exitCode: .unavailable)
    lifeCycle.requestStop("SIGTERM")
    #expect(lifeCycle.waitForRequest() == .unavailable)
    #expect(lifeCycle.waitForRequest() == .unavailable)
  }

  @Test("what waits for a stop is woken by it, and not before")
  func stopRequest() {
    let lifeCycle = LifeCycle(logger: logger)
    #expect(!lifeCycle.stopRequest.wait(milliseconds: 1))
    lifeCycle.requestStop("SIGTERM")
    #expect(lifeCycle.stopRequest.wait(milliseconds: 60_000))
  }

  @Test("what works in rounds is told to stop when everything stops, all of it before anyone's end is waited for")
  func rounds() {
    let lifeCycle = LifeCycle(logger: logger)
    let firstWasTold = StopRequest()
    let ended = Mutex<[String]>([])
    lifeCycle.startRounds("first") { rest in
      while rest(60_000) {}
      firstWasTold.make()
      ended.withLock { $0.append("first") }
    }
    lifeCycle.startRounds("last") { rest in
      while rest(60_000) {}
      // Its end is waited for first.
      if firstWasTold.wait(milliseconds: 10_000) { ended.withLock { $0.append("last") } }
    }
    #expect(lifeCycle.stopAll(timeoutMilliseconds: 20_000))
    #expect(Set(ended.withLock { $0 }) == ["first", "last"])
  }
}

@Suite("Health")
struct HealthTests {
  private func answer(_ lines: [Health.Line], isVerbose: Bool = false) -> (status: Int, text: String) {
    let response = AdminServer.answer(lines, isVerbose: isVerbose)
    return (response.status, String(decoding: response.body, as: UTF8.self))
  }

  @Test("liveness fails when a loop has been silent for too long, and only then")
  func liveness() {
    let clock = standingClock()
    let health = Health(clock: clock)
    let heartbeat = health.heartbeat("loop", ageMaximumMilliseconds: 1_000)
    _ = health.readiness("database")
    clock.advance(byMilliseconds: 1_000)
    #expect(answer(health.liveness()).status == 200)
    clock.advance(byMilliseconds: 1)
    #expect(answer(health.liveness()).status == 503)
    heartbeat.beat()
    #expect(answer(health.liveness()).status == 200)
  }

  @Test("readiness names what is missing, in one line even for hostile reasons")
  func readiness() {
    let health = Health()
    let database = health.readiness("database", until: "no\nconnection")
    #expect(answer(health.readiness()).text == "[+]running ok\n[-]database: no\\u{a}connection\nfailed\n")
    database.setReady()
    #expect(answer(health.readiness()).text == "ok\n")
    #expect(answer(health.readiness(), isVerbose: true).text.contains("[+]database ok"))
    database.setNotReady("gone")
    #expect(answer(health.readiness()).status == 503)
  }

  @Test("who is stopping wants no more work")
  func stopping() {
    let health = Health()
    health.beginStopping()
    #expect(answer(health.readiness()).status == 503)
    #expect(answer(health.liveness()).status == 200)
  }

  @Test("the admin server answers, and a container's check asks it")
  func adminServer() throws {
    let health = Health()
    let condition = health.readiness("assignment")
    let metrics = MetricsRegistry()
    ProcessMetrics.register(in: metrics, service: "test")
    let router = AdminServer.routes(service: "test", health: health, metrics: metrics)
    let server = try HTTPServer(port: 0, router: router)
    defer { server.stop() }
    let base = "http://127.0.0.1:\(server.port)"
    #expect(AdminServer.check(address: "0.0.0.0", port: server.port, path: "/livez") == .success)
    #expect(AdminServer.check(address: "127.0.0.1", port: server.port, path: "/readyz") == .failure)
    condition.setReady()
    #expect(AdminServer.check(address: "127.0.0.1", port: server.port, path: "/readyz") == .success)
    let exposition = try HTTPClient.get(base + "/metrics")
    #expect(exposition.headers.contains { $0.name == "content-type" && $0.value.contains("version=0.0.4") })
    #expect(String(decoding: exposition.body, as: UTF8.self).contains("process_resident_memory_bytes"))
    #expect(String(decoding: try HTTPClient.get(base + "/version").body, as: UTF8.self).contains("\"test\""))
    server.stop()
    #expect(AdminServer.check(address: "127.0.0.1", port: server.port, path: "/livez") == .failure)
  }
}
