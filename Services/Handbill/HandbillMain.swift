internal import Foundation
internal import Runtime

/// The command `handbill`: everything that a person does with the network.
@main
enum HandbillMain {
  static let command = Command(
    "handbill", summary: "Runs, feeds and examines an ad network.",
    discussion: """
      Start with 'handbill demo', which shows a living network on this machine and ends with its accounts, or with
      'handbill up', which stays. The other commands work on any network: they take its places from the options
      --kafka-bootstrap-servers and --database-url, or from the environment.
      """,
    examples: [
      CommandExample("handbill demo", "A whole network for 30 seconds, with its report at the end."),
      CommandExample("handbill reconcile", "Compares all accounts; exit 1 on any difference."),
    ],
    subcommands: [
      DemoCommand.demo, DemoCommand.up, ReportCommand.command, ExplainCommand.command, WhatIfCommand.command,
      UnfilledCommand.command, ReconcileCommand.command, DrainCommand.command, CatalogCommand.command,
      AppCommand.command,
      CreativesCommand.command, SeedCommand.command, SimulateCommand.command, TopicsCommand.command,
      MigrateCommand.command, LogCommand.command,
      RestoreCommand.command, SuspenseCommand.command, TrafficCommand.command, PrivacyCommand.command,
      DoctorCommand.command, RepublishCommand.command, RejectedCommand.command, EmbeddedBrokerCommand.command,
    ])

  static func main() async {
    exit(await CommandLineProgram.run(command).rawValue)
  }
}
