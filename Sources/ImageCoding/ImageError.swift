/// Why bytes could not be read as an image: the kind, and one sentence that names the library and repeats its words.
public struct ImageError: Error, Sendable, Hashable {
  /// The kinds of refusals.
  public enum Kind: Sendable, Hashable {
    /// The bytes do not begin as the coder's format does.
    case notAnImage
    /// They begin so, but are cut, corrupt, or of a kind that the library cannot decode.
    case undecodable
    /// The image is larger than ``DecodingLimits`` allow; nothing was allocated for it.
    case dimensions(maximumPixels: Int)
    /// Decoding it needs more memory than ``DecodingLimits`` allow; nothing was allocated for it.
    case memory(maximumBytes: Int)
    /// The header goes on beyond the prefix: the next look needs at least that many bytes from the file's start.
    case needsMoreBytes(minimum: Int)
    /// The machine had no memory for it, which says nothing about the image.
    case outOfMemory
    /// The library that reads the format is not installed, which says nothing about the image.
    case unavailable
    /// It cannot be written as that format, or not in so few bytes.
    case unencodable
  }

  /// What kind of refusal it is.
  public var kind: Kind
  /// One sentence without full stop.
  public var message: String

  public init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }
}

extension ImageError {
  package static func undecodable(_ message: String) -> ImageError { ImageError(.undecodable, message) }

  /// The answer to a header that ends with its prefix: wait for more, or, where that was all, it is cut.
  package static func endsEarly(_ format: String, needed: Int, of bytes: Int, isComplete: Bool) -> ImageError {
    isComplete
      ? .undecodable("the \(format) file is cut: it has \(bytes) bytes, and its header needs \(needed) or more")
      : ImageError(.needsMoreBytes(minimum: needed), "the \(format) header needs \(needed) bytes, and \(bytes) are here")
  }
}

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
