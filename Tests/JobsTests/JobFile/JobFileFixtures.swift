import TestSupport
@testable import Jobs

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

extension YAMLNode {
  /// Whether both have the same content: scalars are compared by their text, mappings in any order; style, tags and locations are ignored.
  func hasSameContent(as other: YAMLNode) -> Bool {
    switch (content, other.content) {
    case (.scalar(let left), .scalar(let right)):
      return left.text == right.text
    case (.sequence(let left), .sequence(let right)):
      return left.count == right.count && zip(left, right).allSatisfy { $0.hasSameContent(as: $1) }
    case (.mapping(let left), .mapping(let right)):
      return left.pairs.count == right.pairs.count
        && left.pairs.allSatisfy { pair in
          right.pairs.contains { $0.key.hasSameContent(as: pair.key) && $0.value.hasSameContent(as: pair.value) }
        }
    default: return false
    }
  }
}
