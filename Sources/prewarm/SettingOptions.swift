import ArgumentParser
import Reports
import WarmJobs

/// `--set`, which sets any key of the job.
struct SettingOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("Any key by its dotted path, such as request.max-bytes=1MiB; may be repeated.", valueName: "key=value"),
    completion: KeyCompletions.settings
  )
  var set: [String] = []

  /// What they set, in their order.
  func overrides() throws -> [JobOverride] {
    try set.map { setting in
      guard let override = JobOverride(setting: setting) else {
        throw CommandFailure(.misused, "--set \(setting): write KEY=VALUE, such as prefetch.order=lifo")
      }
      return override
    }
  }
}
