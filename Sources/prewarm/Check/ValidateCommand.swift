import ArgumentParser
import WarmJobs

/// `prewarm validate`: reads and checks job files, without a manifest and without network.
struct ValidateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "validate",
    abstract: "Check job files; no manifest is read, and no network is used.",
    discussion: "Ends with 0 where all are right, and with 3 and every mistake located where any is not."
  )

  @Argument(help: "Job files (YAML).", completion: .file(extensions: ["yaml", "yml"]))
  var jobs: [String] = []

  @Flag(help: "Print every key of the job file with its type, default and meaning, and read no job.")
  var listKeys = false

  @OptionGroup(title: "Options that set keys of the job")
  var keys: KeyOptions

  @OptionGroup(title: "Display")
  var display: DisplayOptions

  func validate() throws {
    if jobs.isEmpty && !listKeys { throw ValidationError("Name a job file, or use --list-keys.") }
  }

  func run() throws {
    if listKeys {
      writeToStandardOutput(JobKeys.reference())
      return
    }
    let valid = try JobLoading.jobs(at: jobs, overrides: try keys.overrides(), display: display)
    if !display.quiet {
      for (path, job) in zip(jobs, valid) { Note.plain("\(path): job \(job.name) is right") }
    }
  }
}

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
