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
