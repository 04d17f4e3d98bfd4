/// What the network pays at most where no budget can, as configuration: of billing, and of the command with which a person
/// releases what was held.
package enum CapSettings {
  package static let unfunded = ConfigurationKey<Int>.integer(
    "HANDBILL_CAP_UNFUNDED", in: 0...1_000_000_000, default: 100,
    help: "What the network pays at most for an app's day where no budget can (B4), in units of each currency.")
}
