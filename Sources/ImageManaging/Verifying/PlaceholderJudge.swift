package import Base
import Synchronization

/// Rejects images that stand for a missing one: those that at least a number of URLs of a host share. Images count in the order
/// in which they are found in the cache or fetched. A cached image is known by its cached bytes, which therefore also count for
/// fetched ones. The look-up's threads and the store thread call it; the mutex holds only the counts.
final class PlaceholderJudge: Sendable {
  private let sightings: Mutex<DuplicateIndex>

  /// Creates a judge that rejects images from the `threshold`th URL on.
  init(threshold: Int) { sightings = Mutex(DuplicateIndex(threshold: threshold)) }

  /// Why an image is rejected that identifies itself by that hash, at a host; nil if it is accepted. `shownURL` is the URL as it was first
  /// written, without credentials.
  func failure(_ body: Checksum, url: UInt64, host: UnsafeRawBufferPointer, shownURL: UnsafeRawBufferPointer) -> ImageFailure? {
    let (sighting, first) = sightings.withLock { sightings in
      let hash = UInt32(truncatingIfNeeded: DuplicateIndex.hash(host))
      let sighting = sightings.add(body, url: url, host: hash, shown: shownURL)
      return (sighting, sighting.isPlaceholder ? sighting.group.flatMap { sightings.firstURL(of: $0) } : nil)
    }
    guard sighting.isPlaceholder else { return nil }
    return ImageFailure(.placeholder(urls: sighting.urls, host: String(decoding: host, as: UTF8.self), first: first))
  }
}

extension LoadContext {
  /// Identifies the image of a normalised URL in this context and process, whatever the variant and the spelling of percent-encodings: a
  /// hash of the part of the URL that ``LoadOptions/keyRule`` keeps.
  package func imageHash(of url: UnsafeRawBufferPointer, parts: URLParts) -> UInt64 {
    let hash = { (url: UnsafeRawBufferPointer) in
      withUnifiedEncodings(url)?.withUnsafeBytes(DuplicateIndex.hash) ?? DuplicateIndex.hash(url)
    }
    if case .url = options.keyRule { return hash(url) }
    guard parts.count > 0, let kept = options.keyRule.apply(to: url, parts: parts) else { return hash(url) }
    return kept.withRawBytes(hash)
  }

  /// Why an image with these bytes is rejected at that URL; nil if it is accepted, or if the context has no such rule.
  ///
  /// - Parameter writtenURL: the URL as it was first written.
  func placeholderFailure(
    _ body: Checksum?,
    of url: UnsafeRawBufferPointer,
    parts: URLParts,
    writtenURL: UnsafeRawBufferPointer
  ) -> ImageFailure? {
    guard let placeholders, let body, body != Checksum(high: 0, low: 0), parts.count > 0 else { return nil }
    let host = UnsafeRawBufferPointer(rebasing: url[parts.hostAndPort])
    if host.isEmpty { return nil }
    let judge = { (shownURL: UnsafeRawBufferPointer) in
      placeholders.failure(body, url: self.imageHash(of: url, parts: parts), host: host, shownURL: shownURL)
    }
    return holdsCredentials(writtenURL) ? maskingCredentials(writtenURL).withRawBytes(judge) : judge(writtenURL)
  }
}

extension Flight {
  /// Why an image with these bytes is rejected at this URL; nil if it is accepted, or if the context has no such rule.
  func placeholderFailure(_ body: Checksum?) -> ImageFailure? {
    guard context.placeholders != nil else { return nil }
    return entry.withRequestURL { url in
      entry.withWrittenURL { context.placeholderFailure(body, of: url, parts: entry.parts, writtenURL: $0) }
    }
  }
}
