/// A queue whose removals cost nothing to speak of.
package struct FirstInFirstOut<Element> {
  private var elements: [Element] = []
  private var head = 0

  package init() {}

  package var first: Element? { head < elements.count ? elements[head] : nil }

  package mutating func append(_ element: Element) { elements.append(element) }

  package mutating func removeFirst() {
    guard head < elements.count else { return }
    head += 1
    if head > 64, head > elements.count / 2 {
      elements.removeFirst(head)
      head = 0
    }
  }
}
