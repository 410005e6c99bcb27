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
  private let image: FetchedImage
  private let verified: VerifiedImage?
  private let entry: Entry
  /// What tells its URL from others of the context: ``LoadContext/imageHash(of:parts:)``.
  package let urlHash: UInt64
  /// Why it was refused; nil where it was good.
  package let failure: Failure?

  /// nil where nothing of the body is at hand.
  init?(_ image: FetchedImage, of flight: Flight, verified: VerifiedImage?, failure: Failure?) {
    guard image.hasBytes else { return nil }
    self.image = image
    self.verified = verified
    self.failure = failure
    entry = flight.entry
    urlHash = entry.withRequestURL { [parts = entry.parts] in flight.context.imageHash(of: $0, parts: parts) }
  }

  /// The URL as it was first written, credentials masked.
  package var url: String { String(decoding: entry.shownURL, as: UTF8.self) }

  /// Host and port; empty where the URL has none that is known.
  package var host: ArraySlice<UInt8> { entry.parts.count > 0 ? entry.text[entry.hostRange] : [] }

  /// The image's format, where it was found good, or good but for what it stands for.
  package var format: ImageFormat? { verified?.format }

  /// Its pixels, likewise; 0 × 0 where they are not known.
  package var size: ImageSize { verified?.size ?? ImageSize(width: 0, height: 0) }

  /// Bytes of the whole image; where their number is not known, of as much as came.
  package var byteCount: Int { image.answer.imageBytes ?? image.answer.bodyBytes }

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

extension FetchedImage {
  fileprivate var hasBytes: Bool {
    switch body {
    case .bytes(let bytes), .prefix(let bytes): !bytes.isEmpty
    case .staged: true
    case .unwritten: false
    }
  }
}
