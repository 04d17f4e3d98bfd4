package import AdCore
internal import AdEvents
internal import Crypto
internal import JSON

/// A rejected record that names what an explanation is asked for.
package struct RejectedTrace: Hashable, Sendable {
  package var reference: RejectedReference
  package var arrival: Timestamp
  /// A number of ``RejectionReason``.
  package var reasonNumber: UInt8
  package var detail: String

  private var reasonName: String { RejectionReason(rawValue: reasonNumber)?.name ?? "unknown" }

  var json: JSONValue {
    [
      "reference": .text("\(reference)"), "arrival": .text(arrival.utcText), "reason": .integer(Int64(reasonNumber)),
      "reasonName": .text(reasonName), "detail": .text(detail),
    ]
  }

  var text: String {
    "Rejected record \(reference), which came at \(arrival.utcText), names it: \(reasonNumber) \(reasonName), \(detail). "
      + "'handbill rejected show \(reference)' tells more."
  }

  /// How an id stands in a record's value: as its bytes, as text, and as base64, in which the bytes before it shift its
  /// digits. Digits that its neighbours share are left out.
  static func forms(of id: UUIDv7) -> [[UInt8]] {
    let bytes = [id.high, id.low].flatMap { half in
      stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: half >> UInt64($0)) }
    }
    var forms = [bytes, Array(id.description.utf8)]
    for shift in 0..<3 {
      let digits = Base64.encode([UInt8](repeating: 0, count: shift) + bytes)
      let isShared = (bytes.count + shift) % 3 != 0
      let own = digits.replacing("=", with: "").dropFirst((shift * 8 + 5) / 6).dropLast(isShared ? 1 : 0)
      let web = own.replacing("+", with: "-").replacing("/", with: "_")
      forms.append(Array(own.utf8))
      if !web.elementsEqual(own) { forms.append(Array(web.utf8)) }
    }
    return forms
  }
}
