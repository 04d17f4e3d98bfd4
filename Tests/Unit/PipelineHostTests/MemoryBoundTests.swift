import Foundation
import Kafka
import Pipeline
import Runtime
import Testing

@testable import PipelineHost

/// What docs/architecture.md says of a service's memory is the sum of the limits that the code has.
@Suite("Memory of a service")
struct MemoryBoundTests {
  private static let mebibyte = 1 << 20
  /// What a service is promised to hold at most.
  private static let mostMebibytes = 256
  /// Of a key of a count with its sums, about.
  private static let countKeyBytes = 512
  /// Of terms that are known to be stored, about.
  private static let termsBytes = 384
  /// Of what was sent on, with the room that a table of hashes leaves free.
  private static let forwardBytes = 32
  /// The workers of the document's example, which are the default, and its one broker.
  private static let (workers, brokers) = (
    Int(PipelineSettings.workersKey.declaration.defaultText ?? "") ?? 0, 1
  )

  private static let kafka = KafkaConfiguration(bootstrapServers: "", clientID: "", environment: .real)

  /// Each part of the sum in MiB, in the document's order and words.
  private static let parts: [(mebibytes: Int, times: Int, name: String)] = [
    // Each record may be as long as a batch of clients'.
    (kafka.consumerQueueRecordsMaximum + brokers * kafka.fetchBytesMaximum / mebibyte, 1, "read ahead"),
    (ReaderLimits.heldBytesMaximum / mebibyte, 1, "batches"),
    // Rows, messages and outcomes of a batch: two and a half times as much.
    (
      5 * max(ReaderLimits.batchBytesMaximum, WaitingBatches<Never>.bytesMaximum) / 2 / mebibyte, workers,
      "made of them"
    ),
    (kafka.bytesInFlightMaximum / mebibyte, 1, "on their way out"),
    (PipelineMemory.outboxBytesMaximum / mebibyte, 1, "outboxes"),
    // Those that wait, and those that are being written.
    (2 * PipelineMemory.countKeysMaximum * countKeyBytes / mebibyte, 1, "counts"),
    (RecentIDs.bytesMaximum / mebibyte, 1, "ids"),
    (TermsBook.termsMaximum * termsBytes / mebibyte, workers, "terms"),
    (ForwardLimit.rememberedMaximum * forwardBytes / mebibyte, 1, "sent on"),
  ]

  private static let sum = parts.reduce(0) { $0 + $1.mebibytes * $1.times }

  /// The document with a space for each end of a line.
  private func document() throws -> String {
    let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let text = try String(contentsOf: package.appendingPathComponent("docs/architecture.md"), encoding: .utf8)
    return text.replacing("\n", with: " ")
  }

  @Test("The limits of what a service with two workers holds are together less than is promised")
  func bounded() {
    #expect(Self.parts.allSatisfy { $0.mebibytes > 0 && $0.times > 0 })
    #expect(Self.sum <= Self.mostMebibytes)
  }

  @Test("docs/architecture.md adds up what the code's limits are, and each row of its table says its own")
  func documented() throws {
    let text = try document()
    func says(_ words: String) -> Bool { text.contains(words) }
    let terms = Self.parts.map { part in
      (part.times == 1 ? "" : "\(part.times) x ") + "\(part.mebibytes) (\(part.name))"
    }
    #expect(says(terms.joined(separator: " + ") + " = \(Self.sum) MiB"))
    #expect(says("\(Self.mostMebibytes) MiB under load"))
    let kafka = Self.kafka
    for row in [
      "| \(kafka.consumerQueueRecordsMaximum) records of at most 1 MiB, and one answer of "
        + "\(kafka.fetchBytesMaximum / Self.mebibyte) MiB for each broker; librdkafka counts values alone "
        + "(\(kafka.consumerQueueKibibytesMaximum >> 10) MiB)",
      "| \(KafkaConfiguration.answerBytesMaximum / Self.mebibyte) MiB, else it is not read |",
      "| \(ReaderLimits.heldBytesMaximum / Self.mebibyte) MiB and one read (1,000 records or "
        + "\(ReaderLimits.pollBytesMaximum >> 10) KiB, and one record more); one batch "
        + "\(ReaderLimits.batchBytesMaximum / Self.mebibyte) MiB |",
      "| \(kafka.bytesInFlightMaximum / Self.mebibyte) MiB | process | `KafkaConfiguration.bytesInFlightMaximum` |",
      "| \(PipelineMemory.outboxBytesMaximum / Self.mebibyte) MiB, and one entry (64 KiB) for each partition |",
      // A partition has two tables: of ads that were drawn and seen, and of everything else.
      "| \(RecentIDs.bytesMaximum / Self.mebibyte) MiB, half of it for ads that were drawn and seen, and "
        + "\(2 * RecentIDs.bytesMinimum >> 10) KiB for each partition |",
    ] {
      #expect(says(row), "no row says: \(row)")
    }
    #expect(ReaderLimits.pollRecordsMaximum == 1_000)
    #expect(PipelineMemory.countKeysMaximum == 32_768 && says("| 32,768 keys, and as many"))
    #expect(TermsBook.termsMaximum == 8_192 && says("| 8,192 sets, about 3 MiB; of creatives 1,024 |"))
    #expect(TermsBook.creativesMaximum == 1_024)
  }
}
