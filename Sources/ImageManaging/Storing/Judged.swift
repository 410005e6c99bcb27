import ImageCaching
import ImageCoding
import ImageDownloading
package import Base

/// A received image, with the results of verification and processing. It has neither a ``failure`` nor a ``verified`` image if it
/// was abandoned, since no request waits for it.
struct Judged: Sendable {
  enum Body: Sendable {
    case bytes([UInt8])
    /// Already written to the cache's folder.
    case staged(StagedBlob)
    /// Not to be stored: only its beginning was kept.
    case prefix([UInt8])
    /// Received, but writing it failed.
    case unwritten(CacheError)
  }

  let response: DownloadResponse
  let body: Body
  /// The SHA-256 of the whole body, if it is needed and known.
  let sha256: [UInt8]?
  /// The request headers that the response depends on, as in a record.
  let vary: [UInt8]
  /// Nil unless verification accepted the image.
  private(set) var verified: VerifiedImage?
  /// Nil if the image was only verified, as most are.
  var product: ImageProduct?
  /// Why the image is bad, in the program's wording; nil if it is good.
  private(set) var failure: ImageFailure?

  /// Judges the response to `flight`, on a coding thread or the store thread.
  ///
  /// - Parameter abandons: whether to give up if no request waits for it any more.
  init(
    _ response: DownloadResponse,
    _ body: Body,
    sha256: [UInt8]?,
    vary: [UInt8],
    of flight: Flight,
    by processor: BodyProcessor,
    abandons: Bool
  ) {
    self.response = response
    self.body = body
    self.sha256 = flight.entry.needsSHA256 ? sha256 ?? body.sha256 : nil
    self.vary = vary
    if abandons, flight.stop == .now { return }
    do throws(ImageFailure) {
      (verified, product) = try processed(for: flight, by: processor)
    } catch {
      // Processing that was given up isn't a failure.
      if !abandons || flight.stop != .now { failure = flight.context.worded(error) }
    }
  }

  private func processed(for flight: Flight, by processor: BodyProcessor) throws(ImageFailure) -> ProcessedBody {
    switch body {
    case .bytes(let bytes):
      return try bytes.withRawBytes { bytes throws(ImageFailure) in try processor.process(bytes, of: self, for: flight) }
    case .prefix(let bytes):
      let file = SparseFile(prefix: bytes, pieces: response.pieces)
      return try file.withBytes { bytes throws(ImageFailure) in try processor.process(bytes, of: self, for: flight) }
    case .staged(let blob):
      let processed: Result<ProcessedBody, ImageFailure>
      do {
        processed = try blob.withBytes { bytes in
          Result { () throws(ImageFailure) in try processor.process(bytes, of: self, for: flight) }
        }
      } catch {
        throw ImageFailure(.cacheWrite, message: flight.context.sentence(error))
      }
      return try processed.get()
    case .unwritten(let error): throw ImageFailure(.cacheWrite, message: flight.context.sentence(error))
    }
  }

  /// Judges a good image by the status of caches on the way and by its host's other images; on the store thread, in the order of arrival.
  mutating func compare(for flight: Flight) {
    guard failure == nil else { return }
    let found = flight.context.verification.failure(remoteCache: response.remoteCache) ?? placeholderFailure(for: flight)
    failure = found.map(flight.context.worded)
  }

  private func placeholderFailure(for flight: Flight) -> ImageFailure? {
    guard flight.context.placeholders != nil else { return nil }
    let own: SerializedImage? = if case .instead(let serialized) = stored { serialized } else { nil }
    // Later look-ups know only the checksum of the stored bytes.
    let kept = [own, product?.transformed].compactMap(\.self).map { $0.bytes.withRawBytes { ImageCaching.checksum(of: $0) } }
    let failures = ([checksum ?? prefixChecksum].compactMap(\.self) + kept).map { flight.placeholderFailure($0) }
    return failures.lazy.compactMap(\.self).first
  }
}

extension Judged {
  var isAbandoned: Bool { verified == nil && failure == nil }
  var stored: ImageProduct.Stored { product?.stored ?? .asItCame }

  /// The resources that it holds until it is final, except its product.
  var held: BackPressure.Held { body.held(response) }

  /// The checksum of the whole body; nil if only its beginning was kept.
  var checksum: Checksum? {
    switch body {
    case .bytes(let bytes): bytes.withRawBytes { ImageCaching.checksum(of: $0) }
    case .staged(let blob): blob.checksum
    case .prefix, .unwritten: nil
    }
  }

  /// A substitute for ``checksum``: that of the beginning, mixed with the whole length; nil if the body is whole or empty, or if its length
  /// isn't known.
  var prefixChecksum: Checksum? {
    guard case .prefix(let bytes) = body, !bytes.isEmpty, let whole = response.totalBytes else { return nil }
    var sum = bytes.withRawBytes { ImageCaching.checksum(of: $0) }
    sum.low ^= UInt64(clamping: whole) &* 0x9E37_79B9_7F4A_7C15
    return sum
  }
}

extension Judged.Body {
  /// That of a body that arrived as a whole.
  fileprivate var sha256: [UInt8]? {
    guard case .bytes(let bytes) = self else { return nil }
    return bytes.withRawBytes { Base.sha256(of: $0) }
  }

  func held(_ response: DownloadResponse) -> BackPressure.Held {
    var held = BackPressure.Held(entries: 1, bytes: response.body.count)
    if case .staged = self { held.blobs = 1 }
    return held
  }
}

/// A body while it arrives: a small one in memory, a large one in a blob; only its beginning if it isn't to be stored.
struct BodyStream {
  /// The maximum size kept for a header if the body isn't stored, unless the header is longer; large embedded profiles and previews
  /// precede it.
  static let maximumPrefixBytes = 1 << 20
  /// How many pieces are kept of a file whose header is in several places.
  private static let maximumPieces = 16

  /// The kept bytes after the beginning, if the header continues further on and the body isn't stored.
  private(set) var pieces: [SparseFile.Piece] = []
  let digest: SHA256Stream?
  private let cache: ImageCache?
  private let requiresStoring: Bool
  /// The maximum number of bytes kept in memory, or from the start up to the end of the last piece.
  private var memoryBytes: Int
  private var receivedBytes = 0
  private let verifier: BodyVerifier
  private var writer: BlobWriter?
  private var beginning: [UInt8] = []
  private var isCut = false
  private var failure: CacheError?

  /// Creates a stream for a body by the rules of `flight`, whose header `coders` read.
  init(_ flight: Flight, coders: ImageCoderRegistry) {
    let context = flight.context
    digest = flight.entry.needsSHA256 ? SHA256Stream() : nil
    verifier = BodyVerifier(coders: context.options.coders ?? coders, rules: context.verification)
    cache = context.needsWholeBody ? nil : context.writeCache
    requiresStoring = context.options.faults.requiresStoring
    memoryBytes =
      context.needsWholeBody ? .max : cache == nil ? Self.maximumPrefixBytes : ImageCache.maximumInlineBytes
  }

  mutating func append(_ bytes: [UInt8]) {
    if let digest { bytes.withRawBytes { digest.append($0) } }
    guard failure == nil else { return }
    do throws(CacheError) {
      if let writer {
        try write(bytes, to: writer)
      } else if let cache, beginning.count + bytes.count > memoryBytes {
        let writer = try cache.makeBlobWriter()
        try write(beginning, to: writer)
        self.writer = writer
        beginning = []
        try write(bytes, to: writer)
      } else {
        guard !isCut else { return }
        keep(bytes[...])
      }
    } catch {
      // The commit tries to store it once more, and says why it can't.
      if !requiresStoring, let written = recovered(with: bytes) {
        (beginning, memoryBytes) = (written, .max)
      } else {
        failure = error
      }
      writer = nil
    }
  }

  /// What has arrived so far, from memory or the file whose next write failed, with the next bytes.
  private func recovered(with bytes: [UInt8]) -> [UInt8]? {
    guard let writer else { return beginning + bytes }
    return writer.written().map { beginning + $0 + bytes }
  }

  /// Keeps the next bytes of a body that isn't stored, as far as they may belong to its header.
  private mutating func keep(_ bytes: ArraySlice<UInt8>) {
    var rest = bytes
    while !rest.isEmpty, !isCut {
      let skipped = min(max(0, (pieces.last?.offset ?? 0) - receivedBytes), rest.count)
      receivedBytes += skipped
      rest = rest.dropFirst(skipped)
      let kept = rest.prefix(memoryBytes - receivedBytes)
      if pieces.isEmpty { beginning += kept } else { pieces[pieces.count - 1].bytes += kept }
      receivedBytes += kept.count
      rest = rest.dropFirst(kept.count)
      if !rest.isEmpty { look() }
    }
  }

  /// Decides by the kept bytes which further ones are needed.
  private mutating func look() {
    let file = SparseFile(prefix: beginning, pieces: pieces)
    guard let missing = file.withBytes({ verifier.missingHeaderBytes($0) }), pieces.count < Self.maximumPieces else {
      isCut = true
      return
    }
    let start = missing.start ?? 0
    if start > memoryBytes {
      pieces.append(SparseFile.Piece(offset: start, bytes: []))
      memoryBytes = max(missing.minimum, start + Self.maximumPrefixBytes)
    } else {
      memoryBytes = max(missing.minimum, memoryBytes * 2)
    }
  }

  private func write(_ bytes: [UInt8], to writer: BlobWriter) throws(CacheError) {
    try bytes.withRawBytes { bytes throws(CacheError) in try writer.append(bytes) }
  }

  consuming func finish() -> Judged.Body {
    if let failure { return .unwritten(failure) }
    guard let writer else { return isCut || !pieces.isEmpty ? .prefix(beginning) : .bytes(beginning) }
    do throws(CacheError) {
      return .staged(try writer.finish())
    } catch {
      return .unwritten(error)
    }
  }
}

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
