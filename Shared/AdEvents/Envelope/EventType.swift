/// Every `ce_type` there is. The last part is the major version: a change that an old reader would misread gets a new
/// one, and an unknown one is `unknownType`.
package enum EventType: UInt8, CaseIterable, Sendable {
  case adRequested = 1
  case adResponded
  case impressionRendered
  case impressionViewed
  case impressionUnloaded
  case impressionFailed
  case clickTapped
  case clickBlocked
  case clickCancelled
  case impressionAccepted
  case clickAccepted
  case watermarkPassed
  case allotmentAsked
  case allotmentReported
  case allotmentGranted
  case catalogChanged
  case catalogDeleted
  case catalogHeartbeat
  case eventRejected
  case allotmentRefused
  case impressionNeverShown
  case impressionExpiredUnseen
  case impressionShownBriefly
  case adConverted

  /// The text of `ce_type`.
  package var name: StaticString {
    switch self {
    case .adRequested: "org.handbill.ad.requested.v1"
    case .adResponded: "org.handbill.ad.responded.v1"
    case .impressionRendered: "org.handbill.impression.rendered.v1"
    case .impressionViewed: "org.handbill.impression.viewed.v1"
    case .impressionUnloaded: "org.handbill.impression.unloaded.v1"
    case .impressionFailed: "org.handbill.impression.failed.v1"
    case .impressionNeverShown: "org.handbill.impression.never-shown.v1"
    case .impressionExpiredUnseen: "org.handbill.impression.expired-unseen.v1"
    case .impressionShownBriefly: "org.handbill.impression.shown-briefly.v1"
    case .clickTapped: "org.handbill.click.tapped.v1"
    case .clickBlocked: "org.handbill.click.blocked.v1"
    case .clickCancelled: "org.handbill.click.cancelled.v1"
    case .adConverted: "org.handbill.ad.converted.v1"
    case .impressionAccepted: "org.handbill.impression.accepted.v1"
    case .clickAccepted: "org.handbill.click.accepted.v1"
    case .watermarkPassed: "org.handbill.watermark.passed.v1"
    case .allotmentAsked: "org.handbill.allotment.asked.v1"
    case .allotmentReported: "org.handbill.allotment.reported.v1"
    case .allotmentGranted: "org.handbill.allotment.granted.v1"
    case .allotmentRefused: "org.handbill.allotment.refused.v1"
    case .catalogChanged: "org.handbill.catalog.changed.v1"
    case .catalogDeleted: "org.handbill.catalog.deleted.v1"
    case .catalogHeartbeat: "org.handbill.catalog.heartbeat.v1"
    case .eventRejected: "org.handbill.event.rejected.v1"
    }
  }

  /// The type of this name; nil if there is none.
  package init?(name: String) {
    guard let type = EventType.known.first(where: { "\($0.name)" == name }) else { return nil }
    self = type
  }

  /// The type that `bytes` name; nil if there is none.
  init?(bytes: UnsafeRawBufferPointer) {
    guard let type = EventType.known.first(where: { bytes.equals($0.name) }) else { return nil }
    self = type
  }

  /// Made once: `allCases` is a new array each time.
  private static let known = allCases
}
