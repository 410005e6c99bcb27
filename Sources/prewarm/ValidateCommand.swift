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
