import ImageCaching
import ImageDownloading
import ImagePrimitives

/// A body that has arrived whole.
struct FetchedImage: Sendable {
  enum Body: Sendable {
    case bytes([UInt8])
    /// On its way into the cache already.
    case staged(StagedBlob)
    /// Not meant to be kept: only its beginning was.
    case prefix([UInt8])
    /// It came, but could not be written down.
    case unwritten(CacheError)
  }

  let answer: DownloadedImage
  let body: Body
  /// The request headers that the answer depends on, as a record keeps them.
  let vary: [UInt8]

  /// What it holds until it is final.
  var held: BackPressure.Held {
    var held = BackPressure.Held(entries: 1, bytes: answer.body.count)
    if case .staged = body { held.blobs = 1 }
    return held
  }

  /// The sum over the whole body; nil where only its beginning was kept.
  var checksum: Checksum? {
    switch body {
    case .bytes(let bytes): bytes.withRawBytes { ImageCaching.checksum(of: $0) }
    case .staged(let blob): blob.checksum
    case .prefix, .unwritten: nil
    }
  }

  /// In place of ``checksum``: that of the beginning, mixed with the length of the whole; nil where all of it is there, or nothing, or where its
  /// length is not known.
  var prefixChecksum: Checksum? {
    guard case .prefix(let bytes) = body, !bytes.isEmpty, let whole = answer.imageBytes else { return nil }
    var sum = bytes.withRawBytes { ImageCaching.checksum(of: $0) }
    sum.low ^= UInt64(clamping: whole) &* 0x9E37_79B9_7F4A_7C15
    return sum
  }

  /// Makes of it what the context of `flight` asks for.
  func processed(by processor: BodyProcessor, for flight: Flight) -> Result<ProcessedImage, Failure> {
    do throws(Failure) {
      switch body {
      case .bytes(let bytes), .prefix(let bytes): return .success(try process(bytes, by: processor, for: flight))
      case .staged(let blob): return try process(blob, by: processor, for: flight)
      case .unwritten(let error): throw Failure(.cacheWrite, message: "\(error)")
      }
    } catch {
      return .failure(error)
    }
  }

  private func process(_ bytes: [UInt8], by processor: BodyProcessor, for flight: Flight) throws(Failure) -> ProcessedImage {
    try bytes.withRawBytes { bytes throws(Failure) in
      try processor.process(bytes, of: self, for: flight)
    }
  }

  private func process(
    _ blob: StagedBlob,
    by processor: BodyProcessor,
    for flight: Flight
  ) throws(Failure) -> Result<ProcessedImage, Failure> {
    do {
      return try blob.withBytes { bytes in
        Result { () throws(Failure) in
          try processor.process(bytes, of: self, for: flight)
        }
      }
    } catch {
      throw Failure(.cacheWrite, message: "\(error)")
    }
  }
}

/// A body while it arrives: a small one in memory, a large one written to a blob; only its beginning where it is not to be kept.
struct BodyStream {
  /// What a header may need where the body is not kept; large embedded profiles and previews come before it.
  static let maximumPrefixBytes = 1 << 20

  private let cache: ImageCache?
  /// Bytes that are kept in memory, at most.
  private let memoryBytes: Int
  private var writer: BlobWriter?
  private var beginning: [UInt8] = []
  private var isCut = false
  private var failure: CacheError?

  /// A stream of a body as `context` wants it kept.
  init(_ context: LoadContext) {
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
        let room = memoryBytes - beginning.count
        isCut = isCut || bytes.count > room
        beginning += bytes.prefix(room)
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
  consuming func finish() -> FetchedImage.Body {
    if let failure { return .unwritten(failure) }
    guard let writer else { return isCut ? .prefix(beginning) : .bytes(beginning) }
    do throws(CacheError) {
      return .staged(try writer.finish())
    } catch {
      return .unwritten(error)
    }
  }
}

extension DownloadedImage {
  /// The bytes of the whole image; nil where only a part of it came and the server did not tell.
  var imageBytes: Int? { isPrefix ? totalBytes : bodyBytes }
}
