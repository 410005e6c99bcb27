import Foundation
import TestSupport

/// A C library of `Tests`, compiled for the tests and preloaded into a command.
final class Preload: Sendable {
  /// The value of `LD_PRELOAD`.
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

  /// Names that don't resolve, or never; `resolver.c` lists them.
  static let resolver = Preload("resolver")
  /// Names that resolve as a test defines, differently each time, and public addresses that lead here; see
  /// `resolver.h`.
  static let chosenAddresses = Preload("resolver", of: "CTestResolver")
  /// A record of the command's file operations, for ``RecordedStep``.
  static let recorder = Preload("recorder")
  /// What code in a broken library could try.
  static let attacker = Preload("attacker")
  /// A wrong or jumping clock.
  static let clock = Preload("clock")
  /// A libjpeg that does what an image tells it to.
  static let decoder = Preload("decoder")
}

extension JobFolder {
  /// Starts ``run`` with a preloaded library, after the lines of a shell.
  func startPreloaded(_ library: Preload, environment: [String: String?] = [:], after script: String = ":") throws -> Command {
    // Set within the shell, which would otherwise load the library itself.
    try start(Self.run, environment: environment, after: "\(script)\nexport LD_PRELOAD=\(library.path)")
  }
}
