import Foundation

/// Files under `Tests/Fixtures`, the same in every checkout.
public enum Fixtures {
  /// The absolute path of the folder.
  public static let directory = String(#filePath.dropLast("TestSupport/Fixtures.swift".count)) + "Fixtures"

  /// The absolute path of a file, given relative to the folder, such as `images/good/photo.jpg`.
  public static func path(_ name: String) -> String { "\(directory)/\(name)" }

  /// The bytes of a file; traps if it doesn't exist.
  public static func bytes(_ name: String) -> [UInt8] {
    guard let bytes = readFile(path(name)) else { fatalError("fixture \(name) doesn't exist") }
    return bytes
  }
}

public enum Repository {
  public static let path = URL(fileURLWithPath: "\(Fixtures.directory)/../..").standardized.resolvingSymlinksInPath().path
}

public enum BuiltCommand {
  /// Its path: `$PREWARM_COMMAND`, else the file next to the running test bundle, where SwiftPM builds both.
  public static let path: String = {
    if let path = ProcessInfo.processInfo.environment["PREWARM_COMMAND"] { return path }
    guard let bundle = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else {
      fatalError("cannot read /proc; set PREWARM_COMMAND to the path of the built command")
    }
    let path = URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent("prewarm").path
    guard FileManager.default.isExecutableFile(atPath: path) else {
      fatalError("\(path) doesn't exist; run 'swift build' first, or set PREWARM_COMMAND to the path of the built command")
    }
    return path
  }()
}
