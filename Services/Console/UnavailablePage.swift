internal import HTTP

/// In place of a page that PostgreSQL gives no figures for: it comes back by itself.
struct UnavailablePage {
  static let awayReason = "PostgreSQL cannot be reached"
  /// While nobody answers.
  static let away = UnavailablePage(
    fault: "\(awayReason), so there are no figures. What devices tell waits in Kafka, and nothing of it is lost.",
    advice: "What to do: docs/runbooks.md, DatabaseAway.", refreshSeconds: 10)

  let fault: String
  let advice: String
  let refreshSeconds: Int

  /// Where a statement takes too long. It asks again so seldom that what is slow already is not kept busy by it.
  static func slow(_ fault: String) -> UnavailablePage {
    UnavailablePage(
      fault: fault, advice: "handbill report and the JSON API can be asked for less at once.", refreshSeconds: 60)
  }

  var html: HTML {
    Page.html("Handbill", refreshSeconds: refreshSeconds) {
      Page.header(chosen: "")
      HTML.element("main") {
        HTML.element("section", [.class("state")]) {
          HTML.element("p", [.class("fault")]) { fault }
          HTML.element("p") { "\(advice) This page looks again every \(refreshSeconds) s." }
        }
      }
    }
  }
}
