import Foundation
import TestServers

/// Every fault, in the order in which they are made.
enum Faults {
  /// Whether waiting may take as long as the longest of anybody's timeouts.
  private static let isLong = ProcessInfo.processInfo.environment["FAULTS_LONG"] == "1"

  /// How many records strangers write; a million takes minutes.
  private static let fuzzedMessages =
    ProcessInfo.processInfo.environment["FUZZED_MESSAGES"].flatMap { Int($0) } ?? 4_000

  /// How old the backup is that is restored; by chance about ten seconds, if it is not said.
  private static let backupSeconds = ProcessInfo.processInfo.environment["BACKUP_SECONDS"].flatMap { Int($0) }

  private static let bombs = ProcessInfo.processInfo.environment["BOMBS"].flatMap { Int($0) } ?? 24

  static let all: [any Fault] =
    [
      CommitCut(.beforeServerSees), CommitCut(.afterServerCommitted), FailpointKills(), KillStorm(),
      TerminationUnderLoad(), Interruption(.killedAndStarted), Interruption(.gracefulRestart),
      Interruption(.killedBesideAnother), Interruption(.frozenBesideAnother), FrozenOwner(), FrozenInCopy(),
      InstanceStorm(),
      DatabaseStop(), BrokerRestart(), BrokerUpdate(), OpenTransaction(), WholeReplay(), TopicMadeAgain(), LogCut(),
      RecordsDeleted(), UnstampedTopic(),
      RetentionPastConsumer(), LongWithoutLeader(isLong: isLong), PartitionGrowth(), LeaderLoss(), QuorumLoss(),
      FrozenBroker(), Failover(), RestoredBackup(ageSeconds: backupSeconds), AsynchronousFailover(), DatabaseDiskFull(),
      BrokerDiskFull(),
      BudgetRace(),
      FuzzedMessages(count: fuzzedMessages), DecompressionBombs(count: bombs),
    ]

  /// Those that every test run makes.
  static let smoke: Set<String> = [
    "commit-cut-before", "commit-cut-after", "records-deleted", "killed-beside-another", "frozen-in-copy",
    "fuzzed-messages",
    "decompression-bombs",
  ]
}
