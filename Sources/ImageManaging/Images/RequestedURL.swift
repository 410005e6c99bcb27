import ImageDownloading
import ImagePrimitives
import ImageURLs

/// A URL as somebody wrote it, with its normal form: what a request is made of.
struct RequestedURL {
  /// The written URL, and the normal form behind it where that differs.
  let bytes: [UInt8]
  private let written: Range<Int>
  private let normalized: Range<Int>
  private let parts: URLParts

  /// Throws for what is no http or https URL, unless one of `loaders` can load it: then it stands for itself.
  init(_ url: String, loaders: [any ImageLoader]) throws(InvalidURL) {
    let text = Array(url.utf8)
    written = 0..<text.count
    do throws(InvalidURL) {
      var normal: [UInt8] = []
      parts = try text.withRawBytes { text throws(InvalidURL) in
        try URLNormalizer().normalize(text, relativeTo: nil, into: &normal)
      }
      bytes = normal == text ? text : text + normal
      normalized = normal == text ? written : text.count..<bytes.count
    } catch {
      guard !url.isEmpty, loaders.contains(where: { $0.canLoad(url) }) else { throw error }
      bytes = text
      normalized = written
      parts = .empty
    }
  }

  /// An entry of it, whose bytes lie at `offset` of a batch's.
  func entry(priority: Priority, sequence: Int64 = 0, at offset: Int = 0, owner: (any AnyObject & Sendable)? = nil) -> Entry {
    Entry(
      priority: priority,
      sequence: sequence,
      parts: parts,
      requestRange: offset + normalized.lowerBound..<offset + normalized.upperBound,
      writtenRange: offset + written.lowerBound..<offset + written.upperBound,
      owner: owner
    )
  }
}
