internal import HTTP

/// What every page has around its own part.
enum Page {
  /// - Parameter refreshSeconds: after so long it is asked for again; nil for one that stays as it is.
  static func html(_ title: String, refreshSeconds: Int? = nil, @HTMLBuilder _ body: () -> HTML) -> HTML {
    let refresh = refreshSeconds.map {
      HTML.element("meta", [.named("http-equiv", "refresh"), .named("content", "\($0)")])
    }
    return HTML.element("html", [.named("lang", "en")]) {
      HTML.element("head") {
        HTML.element("meta", [.named("charset", "utf-8")])
        HTML.element("meta", [.named("name", "viewport"), .named("content", "width=device-width, initial-scale=1")])
        refresh ?? .nothing
        HTML.element("title") { title }
        HTML.element("link", [.named("rel", "stylesheet"), .href("/style.css")])
      }
      HTML.element("body") { body() }
    }
  }

  /// The name and the ways to the other pages.
  static func header(chosen: String, note: String = "") -> HTML {
    HTML.element("header") {
      HTML.element("h1") { "Handbill" }
      HTML.element("nav") {
        for (title, address) in [("Live traffic", "/"), ("Test traffic", "/?traffic=test"), ("Explain", "/explain")] {
          HTML.element("a", [.href(address)] + (address == chosen ? [.named("aria-current", "page")] : [])) { title }
        }
      }
      HTML.element("p", [.class("watermark")]) { note }
    }
  }
}
