import Glibc
import TestSupport

/// Debian's strace, attached to a command that waits for its job, so that calls of the loader and the Swift runtime's
/// start neither count nor fail.
enum Strace {
  private static let path = "/usr/bin/strace"

  /// Whether strace is installed, and may attach to a process that isn't its child.
  static func isAllowed() async -> Bool {
    guard access(path, X_OK) == 0, let sleeper = try? Command("/bin/sleep", ["1000"]) else { return false }
    defer { sleeper.kill() }
    do {
      let tracer = try Command(path, ["-p", "\(sleeper.processID)"])
      try await tracer.waitForError("attached")
      return true
    } catch {
      return false
    }
  }

  /// Attaches strace to a running command and all of its threads; returns once it traces.
  static func attach(to command: Command, _ options: [String]) async throws -> Command {
    let tracer = try Command(path, ["-f", "-p", "\(command.processID)"] + options)
    try await tracer.waitForError("attached")
    return tracer
  }

  /// The number of each call in the busiest thread, from the output of `-f -o`.
  static func counts(in trace: String) -> [String: Int] {
    var counts: [Substring: [Substring: Int]] = [:]
    for line in trace.split(separator: "\n") {
      let fields = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
      guard fields.count == 2, let end = fields[1].firstIndex(of: "("), !fields[1].hasPrefix("<") else { continue }
      let call = fields[1][..<end].drop { $0 == " " }
      counts[call, default: [:]][fields[0], default: 0] += 1
    }
    return Dictionary(uniqueKeysWithValues: counts.map { (String($0.key), $0.value.values.max() ?? 0) })
  }
}
