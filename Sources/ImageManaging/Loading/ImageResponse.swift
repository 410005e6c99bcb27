import ImageCaching
public import ImageCoding
public import Base
import Platform

/// A loaded image.
public struct ImageResponse: Sendable {
  public enum Source: Sendable, Hashable {
    case memory, disk, network
  }

  /// The pixels; nil if the request asks for none, or if the hook ``LoadHooks/shouldDownload`` rejected a miss.
  public var image: DecodedImage?
  /// The bytes, if the request asks for them and they are available.
  public var data: [UInt8]?
  /// The source; nil if the hook rejected a miss.
  public var source: Source?
  /// The file of the image as requested, for a load that delivers it.
  var file: ImageData?
  /// The outcome as in a report, with size, format and the cost of the transfer.
  public var result: EntryResult
  /// Pixels per point of a layout, from the name in the request's URL: 2 for `a@2x.png`.
  public var scale: Double
  private let coders: ImageCoderRegistry
  private let options: DecodingOptions

  init(_ completion: LoadCompletion, of request: ImageRequest, coders: ImageCoderRegistry) {
    image = completion.payload?.image
    data = completion.payload?.data
    result = completion.result
    scale = ImageScale.factor(inName: request.url)
    self.coders = coders
    options = request.decoding.options
    source =
      switch completion.result.outcome {
      case .hitMemory: .memory
      case .hitDisk, .revalidated: .disk
      case .downloaded, .checked: .network
      case .failed, .blacklisted, .skipped, .cancelled: nil
      }
    file = source.flatMap { ImageData(completion, source: $0) }
  }

  /// Creates a response for the received part of an image.
  init(partial image: DecodedImage, of request: ImageRequest) {
    self.image = image
    scale = ImageScale.factor(inName: request.url)
    source = .network
    result = EntryResult(.downloaded)
    result.image = image.header.properties
    coders = ImageCoderRegistry()
    options = DecodingOptions()
  }

  /// Returns the pixels, decoded now if the request was lazy; a lazy image isn't transformed.
  ///
  /// It decodes on the calling thread. Throws if there are no bytes or the coder can't decode them.
  public func decoded() throws(ImageError) -> DecodedImage {
    if let image { return image }
    guard let data else { throw ImageError(.notAnImage, "the response has no bytes to decode") }
    return try coders.decode(data, options: options)
  }
}

/// Why a single image was not loaded.
public enum ImageLoadError: Error, Sendable, Hashable {
  /// It failed.
  case failed(ImageFailure)
  /// It is blacklisted, and wasn't requested.
  case blacklisted(ImageFailure)
  /// It isn't cached, and the mode allows no requests.
  case notCached
  /// The hook ``LoadHooks/shouldDownload`` rejects it; only ``ImageManager/image(for:)`` and ``ImageManager/data(for:)`` throw this.
  case declined
  /// It was cancelled.
  case cancelled
  /// The manager or the downloader was shut down, before or during the load.
  case shutDown
}

extension ImageLoadError: CustomStringConvertible {
  /// One sentence; it may contain unescaped text from outside.
  public var description: String {
    switch self {
    case .failed(let failure), .blacklisted(let failure): failure.message
    case .notCached: "the image isn't cached, and the mode allows no requests"
    case .declined: "the image isn't cached, and shouldDownload rejects its download"
    case .cancelled: "the load was cancelled"
    case .shutDown: "the image manager or its downloader was shut down"
    }
  }
}

/// The file of an image as a request shows it: as received, or encoded after a transformer.
///
/// The same request gives the same bytes with the same properties, whether they come from the network or the disk.
public struct ImageData: Sendable {
  /// The bytes of the file; empty if ``ImageManager/file(for:)`` left them on disk.
  public var bytes: [UInt8]
  /// The path of the cache's file with the bytes, if they were left on disk. A later trim or replacement removes it; ``chunks(ofCount:)``
  /// still reads it then.
  public var path: String?
  public var byteCount: Int
  /// Its format, from its bytes; ``/Base/ImageFormat/mediaType`` is the `Content-Type` to send.
  public var format: ImageFormat
  /// Its size in pixels, as stored; 0 × 0 if its header wasn't read.
  public var size: ImageSize
  /// Its XXH3 checksum of 128 bits.
  public var checksum: Checksum
  /// When it expires by the rules of the cache; nil: never, or it wasn't stored.
  public var freshUntil: Timestamp?
  /// Where it came from.
  public var source: ImageResponse.Source
  private var file: OpenFile?

  /// A strong entity tag of these bytes (RFC 9110, section 8.8.3), made from their checksum.
  public var etag: String { "\"\(checksum.hexadecimal)\"" }

  /// The bytes in parts of `count` bytes, 64 KiB by default; the last part may be shorter.
  ///
  /// Parts are read from the file on threads of their own, one at a time. Throws a ``/ImageCaching/CacheError`` if the disk fails, or
  /// `CancellationError` if the task is cancelled.
  public func chunks(ofCount count: Int = 64 << 10) -> some AsyncSequence<ArraySlice<UInt8>, any Error> & Sendable {
    trap(unless: count > 0, "parts of \(count) bytes; use at least 1")
    return Chunks(data: self, count: count)
  }

  init?(_ completion: LoadCompletion, source: ImageResponse.Source) {
    guard let head = completion.payload?.head, let data = completion.payload?.data, let format = head.image.format else {
      return nil
    }
    self.init(head, format, source, freshUntil: completion.result.freshUntil)
    bytes = data
    byteCount = data.count
  }

  /// Opens the file of a record; nil if its bytes are in the index, or it is gone.
  init?(_ record: EntryRecord, in cache: ImageCache, source: ImageResponse.Source) {
    guard let format = record.format, let path = cache.bodyPath(of: record), let file = OpenFile(path) else { return nil }
    self.init(record.head, format, source, freshUntil: record.expiresAt)
    (self.path, self.file) = (path, file)
  }

  private init(_ head: EntryHead, _ format: ImageFormat, _ source: ImageResponse.Source, freshUntil: Timestamp?) {
    bytes = []
    byteCount = Int(clamping: head.bodySize)
    self.format = format
    size = head.image.size
    checksum = head.checksum
    self.freshUntil = freshUntil
    self.source = source
  }

  private final class OpenFile: Sendable {
    let path: String
    let descriptor: FileDescriptor

    init?(_ path: String) {
      let number = uninterrupted { open(path, O_RDONLY | O_CLOEXEC) }
      guard number >= 0 else { return nil }
      self.path = path
      descriptor = FileDescriptor(owning: number)
    }

    func bytes(_ range: Range<Int>) throws(CacheError) -> [UInt8] {
      var count: Int?
      let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, filled in
        count = readAll(descriptor.number, at: UInt64(range.lowerBound), into: UnsafeMutableRawBufferPointer(buffer))
        filled = count ?? 0
      }
      guard count != nil else { throw .cannotRead(path: path, reason: errorSentence()) }
      guard count == range.count else { throw .cannotRead(path: path, reason: "the file has become shorter") }
      return bytes
    }
  }

  private struct Chunks: AsyncSequence, Sendable {
    let data: ImageData
    let count: Int

    struct Iterator: AsyncIteratorProtocol {
      let data: ImageData
      let count: Int
      var offset = 0

      mutating func next() async throws -> ArraySlice<UInt8>? {
        let range = offset..<Swift.min(offset + count, data.byteCount)
        guard !range.isEmpty else { return nil }
        offset = range.upperBound
        guard let file = data.file else { return data.bytes[range] }
        return try await CacheQueries.shared.perform(cancelled: CacheError.cancelled) { () throws(CacheError) in
          try file.bytes(range)[...]
        }
      }

      mutating func next(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? { try await next() }
    }

    func makeAsyncIterator() -> Iterator { Iterator(data: data, count: count) }
  }
}
