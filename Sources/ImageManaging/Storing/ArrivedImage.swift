import ImageCaching
import ImageDownloading
package import ImagePrimitives
import ImageURLs

/// Who is shown the images that come from the network, good ones and refused ones.
package protocol ImageObserver: AnyObject, Sendable {
  /// An image has come and was judged; called on the store thread, which everything waits for, under no lock. Not called for answers without
  /// any byte of a body.
  func saw(_ image: ArrivedImage)
}

/// An image that came, with its bytes as far as they are at hand; whoever keeps it keeps them.
package struct ArrivedImage: Sendable {
  private var image: Judged
  private let entry: Entry
  /// What tells its URL from others of the context: ``LoadContext/imageHash(of:parts:)``.
  package let urlHash: UInt64

  /// nil where nothing of the body is at hand.
  init?(_ image: borrowing Judged, of flight: Flight) {
    guard image.hasBytes else { return nil }
    self.image = copy image
    // Whoever keeps it has no use for pixels.
    self.image.product = nil
    entry = flight.entry
    urlHash = entry.withRequestURL { [parts = entry.parts] in flight.context.imageHash(of: $0, parts: parts) }
  }

  /// Why it was refused; nil if it is good.
  package var failure: Failure? { image.failure }

  /// The URL as it was first written, credentials masked.
  package var url: String { String(decoding: entry.shownURL, as: UTF8.self) }

  /// Host and port; empty where the URL has none that is known.
  package var host: ArraySlice<UInt8> { entry.parts.count > 0 ? entry.text[entry.hostRange] : [] }

  /// The image's format, where it was found good, or good but for what it stands for.
  package var format: ImageFormat? { image.verified?.format }

  /// Its pixels, likewise; 0 × 0 where they are not known.
  package var size: ImageSize { image.verified?.size ?? ImageSize(width: 0, height: 0) }

  /// Bytes of the whole image; where their number is not known, of as much as came.
  package var byteCount: Int { image.response.totalBytes ?? image.response.bodyBytes }

  /// What tells whether its bytes are those of another one; nil where too little is known of them. It is worked out anew each time.
  package var bodyIdentity: Checksum? { image.checksum ?? image.prefixChecksum }

  /// Whether all of its bytes are at hand.
  package var isWhole: Bool {
    if case .prefix = image.body { false } else { true }
  }

  /// Bytes of memory that its body takes; 0 where it is in a file, which is open as long as this is kept.
  package var memoryBytes: Int {
    switch image.body {
    case .bytes(let bytes), .prefix(let bytes): bytes.count
    case .staged, .unwritten: 0
    }
  }

  /// Calls `read` with the bytes that are at hand; nil where they cannot be read.
  package func withBytes<R>(_ read: (UnsafeRawBufferPointer) -> R) -> R? {
    switch image.body {
    case .bytes(let bytes), .prefix(let bytes): return bytes.withRawBytes(read)
    case .unwritten: return nil
    case .staged(let blob):
      do throws(CacheError) {
        return try blob.withBytes(read)
      } catch {
        // Nothing depends on it, and whoever stores it will say why.
        return nil
      }
    }
  }
}

extension Judged {
  fileprivate var hasBytes: Bool {
    switch body {
    case .bytes(let bytes), .prefix(let bytes): !bytes.isEmpty
    case .staged: true
    case .unwritten: false
    }
  }
}
