import ArgumentParser
import ImageCaching
import ImagePrimitives
import ImageURLs
import Reporting

/// A URL as it may be shown.
func shown(_ url: String) -> String { maskingCredentials(url) }

private struct RemovedRow: Encodable {
  let url: String
  let removed: Bool
}

/// Removes URLs from what the options name, one by one, and tells of each; ends with 1 where one was not there.
///
/// - Parameters:
///   - missing: what is said of a URL that is not there.
///   - remove: removes what is known by an identity; says whether it was there.
func removeEach(
  _ urls: [String],
  _ options: CacheOptions,
  missing: String,
  _ remove: (ImageCache, UnsafeRawBufferPointer) throws(CacheError) -> Bool
) throws {
  let opened = try options.open(.readWrite)
  let identities = try urls.map { try opened.identity(of: $0) }
  var areAllRemoved = true
  for (url, identity) in zip(urls, identities) {
    let isRemoved = try withCacheErrors { () throws(CacheError) in
      try identity.withRawBytes { identity throws(CacheError) in try remove(opened.cache, identity) }
    }
    areAllRemoved = areAllRemoved && isRemoved
    if options.json {
      try printJSON(RemovedRow(url: shown(url), removed: isRemoved))
    } else if isRemoved {
      try printData("removed \(escapedForTerminal(shown(url)))\n")
    }
    if !isRemoved { Note.error("\(missing): \(shown(url))") }
  }
  if !areAllRemoved { throw ExitCode(ExitStatus.couldNotFinish.rawValue) }
}
