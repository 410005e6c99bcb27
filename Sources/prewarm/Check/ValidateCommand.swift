import ArgumentParser
import Reports
import Jobs

/// `prewarm validate`: checks job files and whether their lists can be read, without network.
struct ValidateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "validate",
    abstract: "Validate job files without network, or list all keys",
    discussion: """
      Exits with 0 if every job is valid and the files of its lists can be read; otherwise lists all errors and exits with 3. Lists \
      with a URL aren't fetched.

      EXAMPLES:
        prewarm validate homepage.yaml
        prewarm validate --list-keys

      Show rare options with 'prewarm validate --help-hidden'.
      """
  )

  @Argument(
    help: ArgumentHelp("Validate these job files (YAML)", valueName: "job"),
    completion: .file(extensions: ["yaml", "yml"])
  )
  var jobs: [String] = []

  @Flag(help: "Print every key with its default, values and meaning")
  var listKeys = false

  /// For scripts/manual.
  @Flag(help: .private)
  var json = false

  @OptionGroup(title: "Job")
  var settings: SettingOptions<AllKeys>

  @OptionGroup(title: rareOptions, visibility: .hidden)
  var requests: RequestOptions

  @OptionGroup(title: rareOptions, visibility: .hidden)
  var cache: CacheKeyOptions

  @OptionGroup(title: "Display")
  var displayOptions: CheckedFileDisplayOptions

  func validate() throws {
    if jobs.isEmpty && !listKeys { throw ValidationError("Name a job file, or use --list-keys.") }
  }

  func run() throws {
    if listKeys {
      return try json ? printJSON(JobKeys.list) : printData(JobKeys.reference())
    }
    let display = displayOptions.display
    let overrides = try cache.overrides + requests.overrides() + settings.overrides()
    let loaded = try JobLoading.load(jobs, display) { path throws(JobFileErrors) in try JobLoading.job(at: path, overrides) }
    let errors = loaded.flatMap { job in job.listErrors().map { CommandError($0, of: job) } }
    errors.forEach { Note.error($0.description) }
    if let first = errors.first { throw ExitCode(first.status.rawValue) }
    if !display.isQuiet {
      for path in jobs { Note.plain("\(path): OK") }
    }
  }
}

/// `prewarm schema`: prints the JSON Schema of the job file.
struct SchemaCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "schema",
    abstract: "Print the JSON Schema of the job file, for editors",
    discussion: """
      Editors with the YAML language server, such as VS Code and Neovim, use the schema (draft 2020-12) to complete and check keys. \
      Name it in the first line of a job file:

        # yaml-language-server: $schema=job.schema.json

      prewarm validate also finds errors that a schema can't describe.

      EXAMPLES:
        prewarm schema > job.schema.json
      """
  )

  func run() throws { try printData(JobKeys.schema()) }
}
