internal import HTTP
internal import Operations

/// A form for an id, and everything that is known of it, as the command prints it.
struct ExplanationPage {
  /// What was asked for; empty: nothing yet.
  let id: String
  let text: String

  var html: HTML {
    Page.html("Handbill: explain") {
      Page.header(chosen: "/explain")
      HTML.element("main") {
        HTML.element("form", [.named("method", "get")]) {
          HTML.element("label", [.named("for", "id")]) { "A request id, serve id or serve token" }
          HTML.element(
            "input", [.named("id", "id"), .named("name", "id"), .named("value", id), .named("autocomplete", "off")])
          HTML.element("button") { "Explain" }
        }
        if !text.isEmpty { HTML.element("pre") { text } }
      }
    }
  }
}
