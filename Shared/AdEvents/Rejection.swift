package import AdCore

/// Why a record's bytes are no value: one numbered reason, and a sentence for people. Inside this module it travels as
/// a typed throw; whoever decodes gets it as the failure of a `Result`.
package struct Rejection: Error, Hashable, Sendable {
  package var reason: RejectionReason
  /// Which field and what is wrong with it; never holds what the peer sent.
  package var detail: String

  package init(_ reason: RejectionReason, _ detail: String) {
    self.reason = reason
    self.detail = detail
  }
}
