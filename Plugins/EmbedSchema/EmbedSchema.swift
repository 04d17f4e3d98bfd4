import Foundation
import PackagePlugin

/// Puts the messages of a target's `Schema/handbill/v1/*.proto` into its code as a table of their fields, so that the
/// files alone say how a message looks, and a build needs no protobuf compiler.
@main
struct EmbedSchema: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    let folder = target.directoryURL.appending(path: "Schema/handbill/v1")
    let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
      .filter { $0.pathExtension == "proto" }
      .sorted { $0.lastPathComponent < $1.lastPathComponent }
    let output = context.pluginWorkDirectoryURL.appending(path: "EmbeddedSchema.swift")
    return [
      .buildCommand(
        displayName: "Embedding \(files.count) files of the schema",
        executable: try context.tool(named: "SchemaEmbedder").url,
        arguments: [output.path] + files.map(\.path), inputFiles: files, outputFiles: [output])
    ]
  }
}
