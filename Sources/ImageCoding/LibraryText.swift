/// A text that C wrote into an array of characters, which Swift sees as a tuple.
package struct LibraryText: CustomStringConvertible {
  package let description: String

  /// The characters up to the first zero.
  package init(_ characters: some Any) {
    description = withUnsafeBytes(of: characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }

  /// The lines, each after the library's name.
  func lines(of library: String) -> [String] {
    description.split(separator: "\n").map { "\(library): \($0)" }
  }
}
