public import ImageURLs

/// Why a pattern cannot be used.
public struct InvalidPattern: Error, Sendable, Hashable {
  /// One sentence on what is wrong.
  public let message: String

  init(_ message: String) { self.message = message }
}

/// A rule that a URL fits or not: a glob over its path, or `re:` and a regular expression over all of it.
///
/// Both see the normal form. A glob with a slash in it must match the whole path, one without the last segment, so that `*.jpg`
/// means every JPEG file; see ``PathGlob`` for its letters. An expression is a POSIX extended one (regex(7)), found anywhere
/// unless anchored. Letter case counts in both.
public struct URLPattern: Sendable {
  private enum Kind: Sendable {
    case glob(PathGlob)
    case expression(RegularExpression)
  }

  /// The pattern as written in a job file.
  public let written: String
  private let kind: Kind

  /// The pattern as written in a job file; throws where it cannot be understood.
  public init(_ written: String) throws(InvalidPattern) {
    self.written = written
    if written.hasPrefix("re:") {
      kind = .expression(try RegularExpression(String(written.dropFirst(3))))
    } else {
      kind = .glob(try PathGlob(written))
    }
  }

  /// Whether a normalised URL fits.
  public func matches(_ url: UnsafeRawBufferPointer, parts: URLParts) -> Bool {
    switch kind {
    case .glob(let glob): glob.matches(path: url[parts.path])
    case .expression(let expression): expression.matches(url)
    }
  }
}
