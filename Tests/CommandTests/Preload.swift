import Foundation
import TestSupport

/// A C library of `Tests/Preloads`, compiled for the tests and loaded before the others of a command.
final class Preload: Sendable {
  /// What `LD_PRELOAD` is to be.
  let path: String
  private let folder = TemporaryDirectory()

  private init(_ name: String) {
    let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Preloads/\(name).c").path
    path = folder.file("\(name).so")
    let arguments = ["-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", path, source, "-ldl", "-lpthread"]
    do {
      let result = try Command("/usr/bin/env", ["clang"] + arguments).wait()
      guard result.status == 0 else { fatalError("\(source) cannot be compiled: \(result.errorText)") }
    } catch {
      fatalError("no clang, which comes with Swift: \(error)")
    }
  }

  /// Names that do not resolve, or never; `resolver.c` tells them.
  static let resolver = Preload("resolver")
  /// What a command does to its files, written down; ``RecordedStep`` reads it.
  static let recorder = Preload("recorder")
  /// A calendar that is wrong, or jumps.
  static let clock = Preload("clock")
}

extension JobFolder {
  /// Starts the job with a library loaded before all others.
  ///
  /// - Parameter shell: what a shell does before, such as setting a limit.
  func startPreloaded(
    _ library: Preload,
    _ options: [String],
    environment further: [String: String?] = [:],
    shell: String = ":"
  ) throws -> Command {
    // Set within the shell, which would else have the library loaded itself.
    let script = "\(shell)\nLD_PRELOAD=\(library.path) exec \"$@\""
    return try Command(
      "/bin/sh",
      ["-c", script, "sh", BuiltCommand.path, "run", "job.yaml"] + options,
      environment: environment.merging(further) { $1 },
      workingDirectory: folder.path
    )
  }
}
