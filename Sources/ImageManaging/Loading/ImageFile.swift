public import ImageCaching
public import Base
import Platform

/// What a server says of the file of an image.
public struct ImageFacts: Sendable, Hashable {
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
  /// Whether it had expired, see ``ImageResponse/isStale``.
  public var isStale = false

  /// A strong entity tag of these bytes (RFC 9110, section 8.8.3), made from their checksum.
  public var etag: String { "\"\(checksum.hexadecimal)\"" }

  init(_ head: EntryHead, _ format: ImageFormat, _ source: ImageResponse.Source, freshUntil: Timestamp?) {
    byteCount = Int(clamping: head.bodySize)
    self.format = format
    size = head.image.size
    checksum = head.checksum
    self.freshUntil = freshUntil
    self.source = source
  }
}

/// The bytes of an image's file, in memory: as received, or encoded after a transformer.
///
/// The same request gives the same bytes with the same ``ImageFacts``, whether they come from the network or the disk.
@dynamicMemberLookup
public struct ImageData: Sendable {
  public var bytes: [UInt8]
  public var facts: ImageFacts

  init?(_ completion: LoadCompletion, source: ImageResponse.Source) {
    guard let head = completion.payload?.head, let data = completion.payload?.data, let format = head.image.format else {
      return nil
    }
    bytes = data
    facts = ImageFacts(head, format, source, freshUntil: completion.result.freshUntil)
    facts.byteCount = data.count
  }

  public subscript<Value>(dynamicMember fact: KeyPath<ImageFacts, Value>) -> Value { facts[keyPath: fact] }
}

/// The file of an image, to be sent in parts: a large one stays on disk, a small one is in memory.
@dynamicMemberLookup
public struct ImageFile: Sendable {
  public var facts: ImageFacts
  /// The path of the cache's file; nil for bytes in memory. A later trim or replacement removes it; ``chunks(in:ofCount:)`` still reads it
  /// then.
  public var path: String? { if case .disk(let file) = body { file.path } else { nil } }
  private let body: Body

  private enum Body: Sendable {
    case memory([UInt8])
    case disk(OpenFile)
  }

  init(_ data: ImageData, source: ImageResponse.Source? = nil) {
    (facts, body) = (data.facts, .memory(data.bytes))
    if let source { facts.source = source }
  }

  /// Opens the file of a record; nil if its bytes are in the index, or it is gone.
  init?(_ record: EntryRecord, in cache: ImageCache, source: ImageResponse.Source) {
    guard let format = record.format, let path = cache.bodyPath(of: record), let file = OpenFile(path) else { return nil }
    (facts, body) = (ImageFacts(record.head, format, source, freshUntil: record.expiresAt), .disk(file))
  }

  public subscript<Value>(dynamicMember fact: KeyPath<ImageFacts, Value>) -> Value { facts[keyPath: fact] }

  /// The bytes of `range`, all by default, in parts of `count` bytes, 64 KiB by default; the last part may be shorter. A range beyond the
  /// file and a count below 1 trap.
  ///
  /// Parts are read from the file on threads of their own, one at a time. Throws a ``/ImageCaching/CacheError`` if the disk fails or the task
  /// is cancelled.
  public func chunks(
    in range: Range<Int>? = nil,
    ofCount count: Int = 64 << 10
  ) -> some AsyncSequence<ArraySlice<UInt8>, CacheError> & Sendable {
    let range = range ?? 0..<facts.byteCount
    trap(unless: count > 0, "parts of \(count) bytes; use at least 1")
    trap(unless: range.lowerBound >= 0 && range.upperBound <= facts.byteCount, "bytes \(range) of \(facts.byteCount)")
    return Chunks(body: body, range: range, count: count)
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
    let body: Body
    let range: Range<Int>
    let count: Int

    struct Iterator: AsyncIteratorProtocol {
      let body: Body
      var rest: Range<Int>
      let count: Int

      mutating func next() async throws(CacheError) -> ArraySlice<UInt8>? { try await next(isolation: nil) }

      mutating func next(isolation actor: isolated (any Actor)?) async throws(CacheError) -> ArraySlice<UInt8>? {
        let part = rest.prefix(count)
        guard !part.isEmpty else { return nil }
        rest = part.upperBound..<rest.upperBound
        switch body {
        case .memory(let bytes): return bytes[part]
        case .disk(let file):
          return try await CacheQueries.shared.perform(cancelled: CacheError.cancelled) { () throws(CacheError) in
            try file.bytes(part)[...]
          }
        }
      }
    }

    func makeAsyncIterator() -> Iterator { Iterator(body: body, rest: range, count: count) }
  }
}
