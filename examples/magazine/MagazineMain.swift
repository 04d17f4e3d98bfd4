import AdClient
import ExampleTerminal
import Foundation

@main
enum MagazineMain {
  @MainActor
  static func main() async {
    do {
      let magazine = try Magazine(ads: try Settings(CommandLine.arguments).client(app: "long-read"))
      await Terminal.run(magazine)
      await magazine.ads.close()
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(64)
    }
  }
}
