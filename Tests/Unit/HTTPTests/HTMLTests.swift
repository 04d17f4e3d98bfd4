import Testing

@testable import HTTP

@Suite("HTML")
struct HTMLTests {
  @Test("text and attributes are escaped wherever they stand")
  func escaping() {
    let hostile = "<script>\"'&\0"
    let html = HTML.element("p", [.class(hostile), .named("title", hostile)]) {
      hostile
      HTML.text(hostile)
      HTML.element("br")
    }
    let escaped = "&lt;script&gt;&quot;&#39;&amp;\u{FFFD}"
    #expect(html.markup == "<p class=\"\(escaped)\" title=\"\(escaped)\">\(escaped)\(escaped)<br></p>")
  }

  @Test(
    "an address that could run code becomes nothing",
    arguments: [
      "javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\nscript:alert(1)", " javascript:x", "data:text/html,x",
      "//elsewhere.example", "/\\elsewhere.example", "/\t/elsewhere.example", "vbscript:x", "",
    ])
  func dangerousAddresses(address: String) {
    #expect(HTML.element("a", [.href(address)]).markup == "<a href=\"#\"></a>")
  }

  @Test("harmless addresses stay", arguments: ["/apps/x", "https://a.example/?b=c", "#top", "?page=2"])
  func harmlessAddresses(address: String) {
    #expect(HTML.element("a", [.href(address)]).markup == "<a href=\"\(address)\"></a>")
  }

  @Test("attributes that hold code lose their effect")
  func activeAttributes() {
    let html = HTML.element("p", [.named("onclick", "x"), .named("STYLE", "y"), .named("href", "javascript:z")])
    #expect(html.markup == "<p data-onclick=\"x\" data-style=\"y\" data-href=\"javascript:z\"></p>")
  }

  @Test("loops and conditions build in order")
  func builder() {
    let isShown = false
    let html = HTML.element("ul") {
      for index in 1...2 { HTML.element("li") { "\(index)" } }
      if isShown { "no" }
      if isShown { "a" } else { "b" }
    }
    #expect(html.markup == "<ul><li>1</li><li>2</li>b</ul>")
  }
}
