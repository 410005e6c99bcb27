extension SampleImages {
  /// Writes JPEGs with the numbers 0…`count`-1 below `folder`, a thousand per subfolder.
  ///
  /// - Parameter padding: As in ``jpeg(_:padding:base:)``.
  /// - Returns: Their paths relative to `folder`, in order, such as `003/003141.jpg`.
  @discardableResult
  public static func writeTree(_ count: Int, in folder: TemporaryDirectory, padding: Int = 0) -> [String] {
    (0..<count).map { number in
      let path = "\(padded(number / 1000, 3))/\(padded(number, 6)).jpg"
      folder.write(jpeg(number, padding: padding), to: path)
      return path
    }
  }

  /// The text of a manifest with one URL per line, each a path below `base`, such as `http://127.0.0.1:8080`.
  public static func manifest(of paths: some Sequence<String>, base: String) -> String {
    paths.map { "\(base)/\($0)\n" }.joined()
  }

  private static func padded(_ number: Int, _ digits: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, digits - text.count)) + text
  }
}
