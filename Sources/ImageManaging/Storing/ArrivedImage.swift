import ImageCaching
import ImageDownloading
package import Base

/// Gets all images from the network, accepted and rejected ones.
package protocol ImageObserver: AnyObject, Sendable {
  /// Called for each received image after it was judged, outside of locks, on the store thread, which must not be delayed. Not called for
  /// responses without any byte of a body.
  func saw(_ image: ArrivedImage)
}

/// A received image, with its bytes as far as they are available; keeping it keeps the bytes.
package struct ArrivedImage: Sendable {
  private var image: Judged
  private let entry: Entry
  /// Distinguishes its URL from others of the context: ``LoadContext/imageHash(of:parts:)``.
  package let urlHash: UInt64

  /// Nil if no byte of the body is available.
  init?(_ image: borrowing Judged, of flight: Flight) {
    guard image.hasBytes else { return nil }
    self.image = copy image
    // Observers don't need pixels.
    self.image.product = nil
    entry = flight.entry
    urlHash = entry.withRequestURL { [parts = entry.parts] in flight.context.imageHash(of: $0, parts: parts) }
  }

  /// Why it was rejected; nil if it was accepted.
  package var failure: ImageFailure? { image.failure }

  /// The URL as it was first written, credentials masked.
  package var url: String { String(decoding: entry.shownURL, as: UTF8.self) }

  /// Host and port; empty if the URL's parts are unknown.
  package var host: ArraySlice<UInt8> { entry.parts.count > 0 ? entry.text[entry.hostRange] : [] }

  package var format: ImageFormat? { image.verified?.image.format }

  /// Its size in pixels, if it was verified; otherwise 0 × 0.
  package var size: ImageSize { image.verified?.image.size ?? ImageSize(width: 0, height: 0) }

  /// The bytes of the whole image; if unknown, the number received.
  package var byteCount: Int { image.response.totalBytes ?? image.response.bodyBytes }

  /// Identifies its bytes; nil if too few are known. It is computed each time.
  package var bodyIdentity: Checksum? { image.checksum ?? image.prefixChecksum }

  /// Whether all of its bytes are available.
  package var isWhole: Bool {
    if case .prefix = image.body { false } else { true }
  }

  /// The bytes of memory that its body uses; 0 if it is in a file, which stays open as long as this is kept.
  package var memoryBytes: Int {
    switch image.body {
    case .bytes(let bytes), .prefix(let bytes): bytes.count
    case .staged, .unwritten: 0
    }
  }

  /// Calls `read` with the available bytes; nil if they can't be read.
  package func withBytes<R>(_ read: (UnsafeRawBufferPointer) -> R) -> R? {
    switch image.body {
    case .bytes(let bytes), .prefix(let bytes): return bytes.withRawBytes(read)
    case .unwritten: return nil
    case .staged(let blob):
      do throws(CacheError) {
        return try blob.withBytes(read)
      } catch {
        // Observing is optional, and storing the image reports the error.
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
