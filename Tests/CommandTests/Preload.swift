import Foundation
import TestSupport

/// A C library of `Tests`, compiled for the tests and loaded before the others of a command.
final class Preload: Sendable {
  /// What `LD_PRELOAD` is to be.
  let path: String
  private let folder = TemporaryDirectory()

  private init(_ name: String, of place: String = "Preloads") {
    let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent(place).path
    let source = "\(sources)/\(name).c"
    path = folder.file("\(name).so")
    let options = ["-O1", "-Wall", "-Werror", "-I", "\(sources)/include", "-shared", "-fPIC"]
    let arguments = options + ["-o", path, source, "-ldl", "-lpthread"]
    do {
      let result = try Command("/usr/bin/env", ["clang"] + arguments).wait()
      guard result.status == 0 else { fatalError("\(source) cannot be compiled: \(result.errorText)") }
    } catch {
      fatalError("no clang, which comes with Swift: \(error)")
    }
  }

  /// Names that do not resolve, or never; `resolver.c` tells them.
  static let resolver = Preload("resolver")
  /// Names that resolve as a test says, each time otherwise, and public addresses that lead here; `resolver.h` tells how.
  static let chosenAddresses = Preload("resolver", of: "CTestResolver")
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
