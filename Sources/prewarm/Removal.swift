import ArgumentParser
import ImageCaching
import ImagePrimitives
import ImageURLs
import Reports

/// A URL as it may be shown.
func shown(_ url: String) -> String { maskingCredentials(url) }

/// What the command line names, or a list, as a sentence may name it: of one that is very long the beginning.
func named(_ text: String) -> String {
  let limit = 200
  let shown = maskingCredentials(text)
  guard let end = shown.unicodeScalars.index(shown.startIndex, offsetBy: limit, limitedBy: shown.endIndex), end < shown.endIndex
  else {
    return shown
  }
  return shown[..<end] + "…"
}

/// What was removed of a URL.
struct Removed {
  /// Whether what is known by its identity was there.
  let isRemoved: Bool
  /// Images that were made of it, removed with it; nil where there can be none.
  var transformed: Int?

  /// Whether there was anything to be removed.
  var isAny: Bool { isRemoved || transformed ?? 0 > 0 }

  /// For a person.
  fileprivate func sentence(_ url: String) -> String {
    guard let transformed, transformed > 0 else { return "removed \(url)" }
    let images = counted(UInt64(transformed), "transformed image")
    return isRemoved ? "removed \(url) and \(images) of it" : "removed \(images) of \(url)"
  }
}

/// Removes URLs, with all variants and edges of the job, from what the options name and tells of each; ends with 1 where one was not there.
///
/// - Parameters:
///   - missing: what is said of a URL that is not there.
///   - remove: removes what is known by the identities of each URL; says of each what that was.
func removeEach(
  _ urls: [String],
  _ options: CacheOptions,
  missing: String,
  _ remove: (ImageCache, [[[UInt8]]]) throws(CacheError) -> [Removed]
) throws {
  let opened = try options.open(.readWrite)
  let identities = try urls.map { try opened.identities(of: $0) }
  let removed = try withCacheErrors { () throws(CacheError) in try remove(opened.cache, identities) }
  for (url, removed) in zip(urls, removed) {
    if options.json {
      try printJSON(["url": shown(url), "removed": removed.isAny, "transformed": removed.transformed])
    } else if removed.isAny {
      try printData("\(removed.sentence(escapedForTerminal(shown(url))))\n")
    }
    if !removed.isAny { Note.error("\(missing): \(named(url))") }
  }
  guard removed.allSatisfy(\.isAny) else { throw ExitCode(ExitStatus.couldNotFinish.rawValue) }
}
