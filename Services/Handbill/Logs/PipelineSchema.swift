internal import AdEvents
internal import Runtime

/// A service of the pipeline as the database knows it.
struct PipelineSchema: Sendable {
  /// As people write it: `click-tracking`.
  let service: String

  /// Every service of the pipeline.
  static let all = ["ad-selection", "impression-tracking", "click-tracking", "billing"].map(PipelineSchema.init)

  /// The schema's name; one of ours, never input.
  var schema: String { service.replacing("-", with: "_") }

  private init(service: String) { self.service = service }

  /// - Throws: `UsageError` unless `text` names a service.
  static func named(_ text: String) throws(UsageError) -> PipelineSchema {
    guard let found = all.first(where: { $0.service == text || "handbill-\($0.service)" == text }) else {
      let names = all.map(\.service)
      let nearest = NearestName.find(text, among: names).map { "; did you mean \($0)?" } ?? ""
      throw UsageError("SERVICE must be one of \(names.joined(separator: ", "))\(nearest)")
    }
    return found
  }

  /// The services that read `topic`.
  static func readers(of topic: Topic) -> [PipelineSchema] {
    topic.readers.compactMap { reader in
      all.first { $0.service.replacing("-", with: " ") == reader.rawValue }
    }
  }
}
