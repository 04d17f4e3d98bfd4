package import AdCore

/// What the logs are asked before a partition is open, once its last owner can commit nothing more.
package struct LogQuestions: Hashable, Sendable {
  /// Those that services write: what does the last record of each tell?
  package var topics: [String]
  /// Per input the offset of the last record decided: is it there, and where does the log begin and end?
  package var lastOffsets: [Int64?]
}

/// What they answered, in the order of the questions.
package struct LogAnswers: Hashable, Sendable {
  /// Nil where the last record says nothing.
  package var marks: [TimelineMark?]
  package var probes: [TopicProbe]

  package init(marks: [TimelineMark?], probes: [TopicProbe]) {
    self.marks = marks
    self.probes = probes
  }
}

extension PipelineService {
  /// The topics whose records tell of their writers' databases: its outputs, then its inputs with sequences.
  package var markedTopics: [String] { outputs + inputs.filter(\.isSequenced).map(\.topic) }
}
