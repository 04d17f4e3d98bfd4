import AdClient
import ExampleTerminal
import Foundation

@main
enum GameMain {
  @MainActor
  static func main() async {
    do {
      let game = try Game(ads: try Settings(CommandLine.arguments).client(app: "last-match"))
      await Terminal.run(game)
      await game.ads.close()
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(64)
    }
  }
}
