internal import HTTP

/// In place of a page while PostgreSQL is away: it comes back by itself.
struct UnavailablePage {
  private static let refreshSeconds = 10
  static let reason = "PostgreSQL cannot be reached"

  var html: HTML {
    Page.html("Handbill", refreshSeconds: Self.refreshSeconds) {
      Page.header(chosen: "")
      HTML.element("main") {
        HTML.element("section", [.class("state")]) {
          HTML.element("p", [.class("fault")]) {
            "\(Self.reason), so there are no figures. What devices tell waits in Kafka, and nothing of it is lost."
          }
          HTML.element("p") {
            "What to do: docs/runbooks.md, DatabaseAway. This page looks again every \(Self.refreshSeconds) s."
          }
        }
      }
    }
  }
}
