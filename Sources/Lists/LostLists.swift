/// Manifests and sitemaps of indexes that couldn't be read, or not to their end.
struct LostLists {
  static let maximumWarnings = 100

  private var first: ManifestError?
  private var count = 0

  /// Counts one more, and returns its warning if it is one of the first.
  mutating func add(_ error: ManifestError) -> String? {
    first = first ?? error
    count += 1
    return count <= Self.maximumWarnings ? error.description : nil
  }

  /// The error to throw at the end.
  var error: ManifestError? {
    guard let first, count > 1 else { return first }
    let message = "\(first.message) (\(count - 1) more couldn't be read; see the warnings)"
    return ManifestError(manifest: first.manifest, line: first.line, message: message)
  }
}

/// Pages that others link to, or sitemaps list, and web app manifests that couldn't be read.
struct LostPages {
  private var count = 0

  /// Counts one more, and returns its warning if it is one of the first.
  mutating func add(_ error: ManifestError) -> String? {
    count += 1
    return count <= LostLists.maximumWarnings ? error.description : nil
  }

  /// The warning about those without their own; nil if there is none.
  var rest: String? {
    let rest = count - LostLists.maximumWarnings
    return rest > 0 ? "\(rest) more \(rest == 1 ? "page" : "pages") couldn't be read" : nil
  }
}
