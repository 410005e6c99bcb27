import ImagePrimitives
package import ImageURLs
import Synchronization

/// Refuses images that stand for many URLs of a host: from a number of URLs with the same bytes on.
///
/// Images count in the order in which they are met, found in the cache or fetched. What is cached is known by the bytes that the cache has, so
/// those count for what is fetched, too. The look-up's threads and the store thread ask; the mutex holds just what was seen.
final class PlaceholderJudge: Sendable {
  /// An image at a URL.
  struct Occurrence {
    let imageHash: UInt64
    let hostHash: UInt32
    let hostName: UnsafeRawBufferPointer
    /// The URL as it was first written, without credentials.
    let shownURL: UnsafeRawBufferPointer
  }

  private let sightings: Mutex<DuplicateIndex>

  /// Images are refused from the URL of that number on.
  init(threshold: Int) { sightings = Mutex(DuplicateIndex(threshold: threshold)) }

  /// Why the image of `occurrence` is no good; nil where it is, and where nothing is known of its bytes.
  func failure(_ body: Checksum?, of occurrence: Occurrence) -> Failure? {
    guard let body, !occurrence.hostName.isEmpty, body != Checksum(high: 0, low: 0) else { return nil }
    let (sighting, first) = sightings.withLock { sightings in
      let sighting = sightings.add(body, url: occurrence.imageHash, host: occurrence.hostHash, shown: occurrence.shownURL)
      return (sighting, sighting.isPlaceholder ? sighting.group.flatMap { sightings.firstURL(of: $0) } : nil)
    }
    guard sighting.isPlaceholder else { return nil }
    let host = String(decoding: occurrence.hostName, as: UTF8.self)
    return Failure(.placeholder(urls: sighting.urls, host: host, first: first))
  }
}

extension LoadContext {
  /// What tells the image of a normalised URL from others of this context, whatever variant is asked for, throughout this process: a hash
  /// of what ``LoadOptions/keyRule`` leaves of the URL.
  package func imageHash(of url: UnsafeRawBufferPointer, parts: URLParts) -> UInt64 {
    if case .url = options.keyRule { return DuplicateIndex.hash(url) }
    guard parts.count > 0, let kept = options.keyRule.apply(to: url, parts: parts) else { return DuplicateIndex.hash(url) }
    return kept.withRawBytes { DuplicateIndex.hash($0) }
  }

  /// Why an image of these bytes is no good at that URL; nil where it is, or where the context does not ask.
  ///
  /// - Parameter writtenURL: the URL as it was first written.
  func placeholderFailure(
    _ body: Checksum?,
    of url: UnsafeRawBufferPointer,
    parts: URLParts,
    writtenURL: UnsafeRawBufferPointer
  ) -> Failure? {
    guard let placeholders, parts.count > 0 else { return nil }
    let host = UnsafeRawBufferPointer(rebasing: url[parts.hostAndPort])
    let judge = { (shownURL: UnsafeRawBufferPointer) in
      placeholders.failure(
        body,
        of: PlaceholderJudge.Occurrence(
          imageHash: self.imageHash(of: url, parts: parts),
          hostHash: UInt32(truncatingIfNeeded: DuplicateIndex.hash(host)),
          hostName: host,
          shownURL: shownURL
        )
      )
    }
    return holdsCredentials(writtenURL) ? maskingCredentials(writtenURL).withRawBytes(judge) : judge(writtenURL)
  }
}

extension Flight {
  /// Why an image of these bytes is no good at this URL; nil where it is, or where the context does not ask.
  func placeholderFailure(_ body: Checksum?) -> Failure? {
    guard context.placeholders != nil else { return nil }
    return entry.withRequestURL { url in
      entry.withWrittenURL { context.placeholderFailure(body, of: url, parts: entry.parts, writtenURL: $0) }
    }
  }
}
