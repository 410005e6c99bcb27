import Foundation

/// The built `prewarm` executable.
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
