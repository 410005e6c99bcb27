import ArgumentParser
import WarmJobs

/// `prewarm schema`: prints the JSON Schema of the job file.
struct SchemaCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "schema",
    abstract: "Print the JSON Schema of the job file, for editors.",
    discussion: """
      Editors complete and check keys by it (draft 2020-12). Keep it in a file, and name that at the top of a job for the YAML \
      language server, which VS Code, Neovim and others use:

        prewarm schema > prewarm-job.schema.json

        # yaml-language-server: $schema=prewarm-job.schema.json
        version: 1

      What an editor cannot know, such as keys that do not go together, prewarm validate tells.
      """
  )

  func run() throws { try printData(JobKeys.schema()) }
}
