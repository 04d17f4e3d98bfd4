import Foundation
import FuzzTargets
import Testing

@Suite("Decoders, fed with what the fuzzer found")
struct CorpusTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Corpus")

  private func fault(_ target: FuzzTarget, _ input: [UInt8]) -> String? { input.withUnsafeBytes(target.fault) }

  @Test("each input of the corpus keeps all rules", arguments: FuzzTarget.all)
  func corpus(_ target: FuzzTarget) throws {
    let file = Self.folder.appendingPathComponent("\(target.name).txt")
    let inputs = try #require(FuzzCorpus.inputs(try String(contentsOf: file, encoding: .utf8)))
    #expect(!inputs.isEmpty)
    for input in inputs + target.seeds() + [[]] {
      let fault = fault(target, input)
      #expect(fault == nil, "\(target.name): \(fault ?? "") in \(input)")
    }
  }

  @Test("no corpus is left without its target, and none is larger than what may be kept")
  func files() throws {
    let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
    #expect(Set(files) == Set(FuzzTarget.all.map { "\($0.name).txt" }))
    for file in files {
      let text = try String(contentsOf: Self.folder.appendingPathComponent(file), encoding: .utf8)
      #expect(text.utf8.count <= FuzzCorpus.charactersMaximum)
      #expect(FuzzCorpus.text(try #require(FuzzCorpus.inputs(text))) == text)
    }
  }

  @Test("a seed cut off after any byte, or with any byte changed, keeps all rules", arguments: FuzzTarget.all)
  func mutations(_ target: FuzzTarget) {
    for seed in target.seeds().prefix(6) {
      for index in seed.indices.prefix(200) {
        var changed = seed
        changed[index] ^= 0x80
        for input in [Array(seed[..<index]), changed] {
          let fault = fault(target, input)
          #expect(fault == nil, "\(target.name): \(fault ?? "") in \(input)")
        }
      }
    }
  }

  @Test("The seeds of tokens get through the encryption: else nothing behind it would be fed")
  func tokensOpen() throws {
    let seeds = try #require(FuzzTarget.all.first { $0.name == "serve-token" }).seeds()
    #expect(seeds.count == 16 && seeds.allSatisfy(TokenTarget.opens))
    var forged = try #require(seeds.first)
    forged[forged.count - 1] ^= 1
    #expect(!TokenTarget.opens(forged))
  }
}
