import ImageCaching
import ImageCoding
import ImageDownloading
import ImagePrimitives

/// An image that came, with what verifying and processing it showed.
///
/// It has neither a ``failure`` nor anything ``verified`` if nobody waits for it any more.
struct Judged: Sendable {
  enum Body: Sendable {
    case bytes([UInt8])
    /// On its way into the cache already.
    case staged(StagedBlob)
    /// Not meant to be kept: only its beginning was.
    case prefix([UInt8])
    /// It came, but could not be written down.
    case unwritten(CacheError)
  }

  let response: Response
  let body: Body
  /// The request headers that the response depends on, as a record keeps them.
  let vary: [UInt8]
  /// nil unless verification accepted the image.
  private(set) var verified: VerifiedImage?
  /// nil if the image was only verified, as most are.
  var product: ImageProduct?
  /// Why the image is bad, in the program's words; nil if it is good.
  private(set) var failure: Failure?

  /// Judges what came for `flight`, on a coding thread or the store thread.
  ///
  /// - Parameter abandons: whether it is given up if nobody waits for it any more.
  init(
    _ response: Response,
    _ body: Body,
    vary: [UInt8],
    of flight: Flight,
    by processor: BodyProcessor,
    abandons: Bool
  ) {
    self.response = response
    self.body = body
    self.vary = vary
    if abandons, flight.stop == .now { return }
    do throws(Failure) {
      (verified, product) = try processed(for: flight, by: processor)
    } catch {
      // What was given up half-way has not failed.
      if !abandons || flight.stop != .now { failure = flight.context.worded(error) }
    }
  }

  private func processed(for flight: Flight, by processor: BodyProcessor) throws(Failure) -> ProcessedBody {
    switch body {
    case .bytes(let bytes), .prefix(let bytes):
      return try bytes.withRawBytes { bytes throws(Failure) in try processor.process(bytes, of: self, for: flight) }
    case .staged(let blob):
      let processed: Result<ProcessedBody, Failure>
      do {
        processed = try blob.withBytes { bytes in
          Result { () throws(Failure) in try processor.process(bytes, of: self, for: flight) }
        }
      } catch {
        throw Failure(.cacheWrite, message: flight.context.sentence(error))
      }
      return try processed.get()
    case .unwritten(let error): throw Failure(.cacheWrite, message: flight.context.sentence(error))
    }
  }

  /// Judges a good image by what caches on the way had of it and by its host's other images; for the store thread, in the order of arrival.
  mutating func compare(for flight: Flight) {
    guard failure == nil else { return }
    let found = flight.context.verification.failure(remoteCache: response.remoteCache) ?? placeholderFailure(for: flight)
    failure = found.map(flight.context.worded)
  }

  private func placeholderFailure(for flight: Flight) -> Failure? {
    guard flight.context.placeholders != nil else { return nil }
    let own: SerializedImage? = if case .instead(let serialized) = stored { serialized } else { nil }
    // A later look-up finds what is stored of it, and has nothing else to go by.
    let kept = [own, product?.transformed].compactMap(\.self).map { $0.bytes.withRawBytes { ImageCaching.checksum(of: $0) } }
    let failures = ([checksum ?? prefixChecksum].compactMap(\.self) + kept).map { flight.placeholderFailure($0) }
    return failures.lazy.compactMap(\.self).first
  }
}

extension Judged {
  var isAbandoned: Bool { verified == nil && failure == nil }

  var stored: ImageProduct.Stored { product?.stored ?? .asItCame }

  /// What it holds until it is final, its product aside.
  var held: BackPressure.Held { body.held(response) }

  /// The sum over the whole body; nil if only its beginning was kept.
  var checksum: Checksum? {
    switch body {
    case .bytes(let bytes): bytes.withRawBytes { ImageCaching.checksum(of: $0) }
    case .staged(let blob): blob.checksum
    case .prefix, .unwritten: nil
    }
  }

  /// In place of ``checksum``: that of the beginning, mixed with the length of the whole; nil if all of it is there, or nothing, or if its
  /// length is not known.
  var prefixChecksum: Checksum? {
    guard case .prefix(let bytes) = body, !bytes.isEmpty, let whole = response.totalBytes else { return nil }
    var sum = bytes.withRawBytes { ImageCaching.checksum(of: $0) }
    sum.low ^= UInt64(clamping: whole) &* 0x9E37_79B9_7F4A_7C15
    return sum
  }
}

extension Judged.Body {
  func held(_ response: Response) -> BackPressure.Held {
    var held = BackPressure.Held(entries: 1, bytes: response.body.count)
    if case .staged = self { held.blobs = 1 }
    return held
  }
}

/// A body while it arrives: a small one in memory, a large one written to a blob; only its beginning where it is not to be kept.
struct BodyStream {
  /// What a header may need where the body is not kept; large embedded profiles and previews come before it.
  static let maximumPrefixBytes = 1 << 20
  /// The same where the header goes on even then.
  private static let maximumHeaderBytes = 16 << 20

  private let cache: ImageCache?
  /// Bytes that are kept in memory, at most.
  private var memoryBytes: Int
  private let verifier: BodyVerifier
  private var writer: BlobWriter?
  private var beginning: [UInt8] = []
  private var isCut = false
  private var failure: CacheError?

  /// A stream of a body as `context` wants it kept, whose header `coders` read.
  init(_ context: LoadContext, coders: ImageCoderRegistry) {
    verifier = BodyVerifier(coders: context.options.coders ?? coders, rules: context.verification)
    cache = context.needsWholeBody ? nil : context.writeCache
    memoryBytes =
      context.needsWholeBody ? .max : cache == nil ? Self.maximumPrefixBytes : ImageCache.maximumInlineBytes
  }

  mutating func append(_ bytes: [UInt8]) {
    guard failure == nil else { return }
    do throws(CacheError) {
      if let writer {
        try write(bytes, to: writer)
      } else if let cache, beginning.count + bytes.count > memoryBytes {
        let writer = try cache.makeBlobWriter()
        self.writer = writer
        try write(beginning, to: writer)
        beginning = []
        try write(bytes, to: writer)
      } else {
        guard !isCut else { return }
        beginning += bytes
        // Of what isn't kept, as much as its header needs.
        while beginning.count > memoryBytes, !isCut {
          let missing = beginning[..<memoryBytes].withUnsafeBytes { verifier.missingHeaderBytes($0) }
          isCut = missing == nil || memoryBytes >= Self.maximumHeaderBytes
          if let missing, !isCut { memoryBytes = min(max(missing, memoryBytes * 2), Self.maximumHeaderBytes) }
        }
        if isCut { beginning.removeSubrange(memoryBytes...) }
      }
    } catch {
      failure = error
      writer = nil
    }
  }

  private func write(_ bytes: [UInt8], to writer: BlobWriter) throws(CacheError) {
    try bytes.withRawBytes { bytes throws(CacheError) in try writer.append(bytes) }
  }

  /// The body, once the last byte has come.
  consuming func finish() -> Judged.Body {
    if let failure { return .unwritten(failure) }
    guard let writer else { return isCut ? .prefix(beginning) : .bytes(beginning) }
    do throws(CacheError) {
      return .staged(try writer.finish())
    } catch {
      return .unwritten(error)
    }
  }
}
