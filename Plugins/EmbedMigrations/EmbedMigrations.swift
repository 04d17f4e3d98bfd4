import Foundation
import PackagePlugin

/// Puts every `Tables/*.sql` and `Logic/*.sql` of a target into its code, so that a program carries its schema and a new
/// file needs no other edit.
@main
struct EmbedMigrations: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    let files = try ["Tables", "Logic"].flatMap { folder in
      try FileManager.default.contentsOfDirectory(
        at: target.directoryURL.appending(path: folder), includingPropertiesForKeys: nil
      )
      .filter { $0.pathExtension == "sql" }
      .sorted { $0.lastPathComponent < $1.lastPathComponent }
    }
    let output = context.pluginWorkDirectoryURL.appending(path: "EmbeddedMigrations.swift")
    return [
      .buildCommand(
        displayName: "Embedding \(files.count) migrations",
        executable: try context.tool(named: "MigrationEmbedder").url,
        arguments: [output.path] + files.map(\.path), inputFiles: files, outputFiles: [output])
    ]
  }
}
