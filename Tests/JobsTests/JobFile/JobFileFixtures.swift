import TestSupport
import Jobs

/// The shortest job.
let shortestJob = "version: 1\nname: homepage\nmanifests: [{path: a.txt}]\n"

/// Reads a job's text as `jobs/homepage.yaml`.
func job(
  _ text: String,
  _ overrides: [JobOverride] = [],
  environment: [String: String] = ["HOME": "/home/user"]
) throws(JobFileErrors) -> Job {
  try JobFile.parse(Array(text.utf8), path: "/srv/jobs/homepage.yaml", overrides: overrides, environment: environment)
}

/// The errors of a job, one per line, without the path; empty for a valid one.
func mistakes(
  in text: String,
  _ overrides: [JobOverride] = [],
  environment: [String: String] = ["HOME": "/home/user"]
) -> [String] {
  do {
    _ = try job(text, overrides, environment: environment)
    return []
  } catch {
    return error.errors.map { mistake in
      let text = mistake.description
      return text.hasPrefix("/srv/jobs/homepage.yaml:") ? String(text.dropFirst("/srv/jobs/homepage.yaml:".count)) : text
    }
  }
}

/// The path of the repository.
let repository = String(Fixtures.directory.dropLast("/Tests/Fixtures".count))
