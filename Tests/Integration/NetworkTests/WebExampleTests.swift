import AdBasics
import Foundation
import HTTP
import JSON
import LocalProcesses
import Pictures
import Runtime
import Testing
import Threads

extension WholeNetwork {
  /// A page in a real browser, through the edge.
  @Suite struct WebExampleTests {
    static let needsChromium: Comment = "a browser is needed: deploy/install tests installs chromium"

    @Test(
      "M1, M4, M7, D7: examples/web in a browser: an ad out of sight counts nothing; seen and tapped it is billed once",
      .enabled(if: Chromium.isInstalled, needsChromium))
    func browser() async throws {
      let page = try ExamplePage()
      defer { page.stop() }
      let port = try FreePort.find()
      let network = try await TestNetwork.started(EdgeNetwork.plan(port: port, origins: "chess=\(page.origin)"))
      defer { network.stop() }
      try await onOwnThread {
        try network.awaitAllotments()
        let said = try page.drive(edge: "http://127.0.0.1:\(port)", key: WholeNetwork.GoldenCaseTests.key)
        #expect(said.first == "load launch-1")
        #expect(said.contains("width 320"))
        #expect(said.contains("hidden: no view"))
        #expect(said.contains("covered: no view"))
        #expect(said.filter { $0 == "view" }.count == 1)
        #expect(said.contains("refused") && said.contains("finish"))
        #expect(said.contains("again: in a while"))
        #expect(said.contains { $0.hasPrefix("wrong key: 4 ") })
        #expect(said.contains("wrong image: 8"))
        #expect(said.last == "done", "\(said)")
        try network.awaitCount("SELECT count(*) FROM billing.charge WHERE fate = vocabulary.charge_fate('charged')", 2)
        try network.awaitCount(
          "SELECT count(*) FROM billing.charge WHERE kind = vocabulary.charge_kind('click')", 1)
        // Rendered and unloaded once; the ad whose image was another's failed, was never shown, and is gone.
        try network.awaitCount("SELECT count(*) FROM impression_tracking.delivery", 5)
        try network.awaitCount("SELECT count(*) FROM impression_tracking.rejected", 0)
        try network.awaitCount("SELECT count(*) FROM click_tracking.rejected", 0)
        #expect(try network.command(["reconcile"]).status == 0)
      }
    }

    @Test(
      "D2, D3: examples/web asks as often as the network says, and never while nobody looks; strangers' answers lose nothing",
      .enabled(if: Chromium.isInstalled, needsChromium))
    func pacing() async throws {
      let page = try ExamplePage(script: ExamplePage.pacing)
      defer { page.stop() }
      let port = try FreePort.find()
      var plan = EdgeNetwork.plan(port: port, origins: "chess=\(page.origin)")
      plan.settings["HANDBILL_BANNER_REFRESH"] = "6s"
      let network = try await TestNetwork.started(plan)
      defer { network.stop() }
      try await onOwnThread {
        try network.awaitAllotments()
        let said = try page.drive(edge: "http://127.0.0.1:\(port)", key: WholeNetwork.GoldenCaseTests.key)
        #expect(
          said == [
            "first", "second: not before the network's time", "hidden: no request", "looked at: asked at once",
            "while covered: no request", "after it: asked at once", "back: the network's time", "portal: 1",
            "again: the network's time", "told again", "done",
          ], "\(said)")
        // Five views, one of which was told while a portal answered, and the tap.
        try network.awaitCount("SELECT count(*) FROM billing.charge WHERE fate = vocabulary.charge_fate('charged')", 6)
        try network.awaitCount("SELECT count(*) FROM impression_tracking.rejected", 0)
        #expect(try network.command(["reconcile"]).status == 0)
      }
    }

    @Test(
      "examples/python: a client over HTTP, in JSON, checks its images, reports, and is billed; A4: in an app for users under 17, too",
      arguments: [false, true])
    func python(isUnder17: Bool) async throws {
      let port = try FreePort.find()
      let network = try await TestNetwork.started(EdgeNetwork.plan(port: port, isUnder17: isUnder17))
      defer { network.stop() }
      try await onOwnThread {
        try network.awaitAllotments()
        let said = try Shell.run(
          "python3",
          [
            PackageRoot.path("examples/python/one_banner_over_http.py"), "--edge", "http://127.0.0.1:\(port)", "--app",
            "chess", "--key", WholeNetwork.GoldenCaseTests.key,
          ])
        let steps = said.split(separator: "\n").compactMap { $0.split(separator: " ").first }
        #expect(
          steps == ["asked", "answered", "fetched", "fetched", "rendered", "viewed", "tapped", "unloaded"])
        try network.awaitCount("SELECT count(*) FROM billing.charge WHERE fate = vocabulary.charge_fate('charged')", 2)
        try network.awaitCount("SELECT count(*) FROM impression_tracking.delivery", 2)
        try network.awaitCount("SELECT count(*) FROM impression_tracking.rejected", 0)
        #expect(try network.command(["reconcile"]).status == 0)
      }
    }
  }
}

/// A network with an edge, whose one ad has images that the edge has.
enum EdgeNetwork {
  static func plan(port: Int, origins: String? = nil, isUnder17: Bool = false) -> TestNetwork.Plan {
    let images = SamplePicture.images(of: "ferry-summer-one")
    let catalog = WholeNetwork.GoldenCaseTests.catalog
      .replacing("\"isUnder17\": false", with: "\"isUnder17\": \(isUnder17)")
      .replacing("\"kind\": \"brand\"", with: "\"kind\": \"brand\", \"targeting\": { \"allowsUnder17\": true }")
      .replacing("https://acme.example/p.png", with: images[.phoneBannerPortrait] ?? "")
      .replacing("https://acme.example/l.png", with: images[.phoneBannerLandscape] ?? "")
    var plan = TestNetwork.Plan(apps: ["chess"], catalog: catalog)
    plan.services.append("edge")
    plan.ownSettings["edge"] = ["HANDBILL_EDGE_PORT": "\(port)"]
    if let origins { plan.ownSettings["edge"]?["HANDBILL_EDGE_ORIGINS"] = origins }
    return plan
  }
}

/// `examples/web` as a server gives it to browsers, with a script that uses it as a person does and tells what it saw.
private final class ExamplePage: Sendable {
  private static let script = """
    <div style="height: 3000px"></div>
    <script type="module">
      import { Banner } from "./handbill.js";
      const said = [], element = document.querySelector("#ad"), rest = (ms) => new Promise((over) => setTimeout(over, ms));
      const given = new URLSearchParams(location.search);
      const next = (name, at = element) => new Promise((over) => at.addEventListener(`handbill-${name}`, over, { once: true }));
      const settings = { edge: given.get("edge"), app: "chess", key: given.get("key"), country: "US", placement: "home" };
      element.addEventListener("handbill-view", () => said.push("view"));
      async function use() {
        document.body.prepend(Object.assign(document.createElement("div"), { style: "height: 3000px" }));
        scrollTo(0, 0);
        said.push(`load ${(await next("load")).detail.ad}`);
        await element.querySelector("img").decode();
        said.push(`width ${element.querySelector("img").naturalWidth}`);
        await rest(1500);
        said.push(`hidden: ${said.includes("view") ? "a" : "no"} view`);
        const curtain = Object.assign(document.createElement("div"), { style: "position: fixed; inset: 0; background: #fff" });
        document.body.append(curtain);
        element.scrollIntoView({ block: "center" });
        await rest(1500);
        said.push(`covered: ${said.includes("view") ? "a" : "no"} view`);
        curtain.remove();
        await next("view");
        // A tap counts a tenth of a second after its impression, not sooner (M5).
        await rest(300);
        element.addEventListener("handbill-action", (event) => { event.preventDefault(); said.push("refused"); }, { once: true });
        element.querySelector("button").click();
        const finish = next("finish");
        element.querySelector("button").click();
        await rest(2300);
        document.querySelector("dialog button").click();
        await finish;
        said.push("finish");
        const opened = document.createElement("div"), waiting = next("wait", opened), again = new Banner(opened, settings);
        const { seconds } = (await waiting).detail;
        said.push(`again: ${seconds > 0 && seconds <= 30 && !again.isLoading ? "in a while" : "at once"}`);
        clearTimeout(again.next);
        const other = document.createElement("div");
        const wrong = next("error", other);
        new Banner(other, { ...settings, placement: "elsewhere", key: "no-key" });
        const { code, message } = (await wrong).detail;
        said.push(`wrong key: ${code} ${message}`);
        const fetched = window.fetch, third = document.createElement("div"), failed = next("error", third);
        window.fetch = async (url, options) => {
          const response = await fetched(url, options);
          if (!String(url).endsWith("/v1/ads")) return response;
          const answer = await response.json();
          answer.ad.images[0].sha256 = btoa("x".repeat(32));
          return Response.json(answer);
        };
        const broken = new Banner(third, { ...settings, placement: "other" });
        said.push(`wrong image: ${(await failed).detail.code}`);
        window.fetch = fetched;
        window.banner.unload();
        await Promise.all([window.banner.reporter.flush(), broken.reporter.flush()]);
        while (window.banner.reporter.batches.length + broken.reporter.batches.length > 0) await rest(50);
        said.push("done");
      }
      await use().catch((error) => said.push(String(error)));
      await fetch("/done", { method: "POST", body: JSON.stringify(said) });
    </script>
    """

  /// Looks away, covers the page and puts a captive portal in the edge's place, and counts what is asked.
  static let pacing = """
    <script type="module">
      import { Banner } from "./handbill.js";
      const said = [], element = document.querySelector("#ad"), rest = (ms) => new Promise((over) => setTimeout(over, ms));
      const next = (name) => new Promise((over) => element.addEventListener(`handbill-${name}`, over, { once: true }));
      const asks = [], fetched = window.fetch, refresh = 6000;
      let isPortal = false, portalAnswers = 0;
      window.fetch = (url, options) => {
        if (String(url).endsWith("/v1/ads")) asks.push(window.banner.askedAt);
        if (!isPortal) return fetched(url, options);
        portalAnswers += 1;
        return Promise.resolve(new Response("<h1>Log in</h1>", { status: portalAnswers % 2 ? 200 : 403, headers: { "Content-Type": "text/html" } }));
      };
      const look = (state) => {
        Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
        document.dispatchEvent(new Event("visibilitychange"));
      };
      async function use() {
        element.scrollIntoView({ block: "center" });
        await next("view");
        said.push("first");
        // The page made its banner, and asked, before this script began to count.
        const { askedAt, shownAt } = window.banner;
        await next("load");
        said.push(`second: ${asks[0] - Math.max(askedAt, shownAt) >= refresh ? "not before" : "before"} the network's time`);
        await next("view");
        look("hidden");
        let count = asks.length;
        await rest(refresh + 2000);
        said.push(`hidden: ${asks.length === count ? "no" : "a"} request`);
        const third = next("load");
        let began = performance.now();
        look("visible");
        await third;
        said.push(`looked at: asked ${asks.at(-1) - began < 500 ? "at once" : "late"}`);
        await next("view");
        await rest(300);
        count = asks.length;
        element.querySelector("button").click();
        await rest(refresh + 2000);
        said.push(`while covered: ${asks.length === count ? "no" : "a"} request`);
        const fourth = next("load");
        began = performance.now();
        document.querySelector("dialog button").click();
        await fourth;
        said.push(`after it: asked ${asks.at(-1) - began < 500 ? "at once" : "late"}`);
        began = asks.at(-1);
        dispatchEvent(new PageTransitionEvent("pagehide", { persisted: true }));
        const fifth = next("load");
        dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
        await fifth;
        said.push(`back: ${asks.at(-1) - began >= refresh ? "the network's" : "too short a"} time`);
        isPortal = true;
        await next("view");
        const { code } = (await next("error")).detail;
        said.push(`portal: ${code}`);
        isPortal = false;
        began = asks.at(-1);
        await next("load");
        said.push(`again: ${asks.at(-1) - began >= refresh ? "the network's" : "too short a"} time`);
        await next("view");
        while (window.banner.reporter.batches.length > 0) await rest(100);
        said.push("told again");
        clearTimeout(window.banner.next);
        window.banner.unload();
        await rest(1500);
        while (window.banner.reporter.batches.length > 0) await rest(100);
        said.push("done");
      }
      await use().catch((error) => said.push(String(error)));
      await fetched("/done", { method: "POST", body: JSON.stringify(said) });
    </script>
    """

  private let server: HTTPServer
  private let said = Monitor<[String]?>(nil)
  var origin: String { "http://127.0.0.1:\(server.port)" }

  init(script: String = ExamplePage.script) throws {
    var router = Router()
    for (path, type) in [("index.html", "text/html; charset=utf-8"), ("handbill.js", "text/javascript")] {
      router.get("/\(path)") { _ in
        let text = try String(contentsOfFile: PackageRoot.path("examples/web/\(path)"), encoding: .utf8)
        return .text(path == "index.html" ? text + script : text, contentType: type)
      }
    }
    router.on(.post, "/done") { [said] request in
      let lines = try JSONDecoder().decode([String].self, from: Data(request.body))
      said.update { $0 = lines }
      return HTTPResponse(status: 204)
    }
    server = try HTTPServer(port: 0, router: router)
  }

  /// Opens the page in a browser, and waits for what its script says.
  func drive(edge: String, key: String) throws -> [String] {
    let folder = try TemporaryFolder(prefix: "hbc")
    let browser = try ChildProcess(
      Chromium.command("\(origin)/index.html?edge=\(edge)&key=\(key)", folder: folder.path))
    defer { browser.terminate(graceMilliseconds: 5_000) }
    return said.waitForResult(timeoutMilliseconds: 90_000) { $0 } ?? []
  }

  func stop() { server.stop(graceMilliseconds: 0) }
}

/// The browser of the tests.
private enum Chromium {
  static let isInstalled = FileManager.default.isExecutableFile(atPath: path)
  private static let path = "/usr/bin/chromium"
  /// A phone's.
  private static let width = 390

  static func command(_ url: String, folder: String) -> ChildProcess.Command {
    ChildProcess.Command(
      path,
      [
        "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--user-data-dir=\(folder)", "--window-size=\(width),844", url,
      ], environment: ["HOME": folder])
  }
}
