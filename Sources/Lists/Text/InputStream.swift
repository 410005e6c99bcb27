import CZlib
import Glibc
import Base

/// The text of one list, decompressed if it starts like gzip, and in UTF-8 if it is UTF-16 with a byte order mark.
final class InputStream {
  private enum Encoding {
    /// Too few bytes have arrived to decide.
    case unknown
    case plain
    case gzip(GzipInflater)
  }

  static let blockBytes = 256 << 10

  let input: InputDescriptor

  private var encoding = Encoding.unknown
  /// The first bytes, until they show whether the text is UTF-16.
  private var beginning: [UInt8]? = []
  private var converter: TextConverter?
  /// Raw bytes that can't be passed on directly.
  private let block = UnsafeMutableRawBufferPointer.allocate(byteCount: blockBytes, alignment: 16)
  private var unread: Range<Int> = 0..<0
  private var isAtEnd = false
  /// Bytes of the file that have been used, counted before decompression.
  private(set) var consumedBytes: UInt64 = 0

  /// The maximum number of bytes of the text; nil means no limit.
  private let maximumTextBytes: UInt64?
  private var textBytes: UInt64 = 0

  /// Creates the text of that file; reading fails if the text exceeds the maximum.
  init(_ input: InputDescriptor, maximumTextBytes: UInt64? = nil) {
    self.input = input
    self.maximumTextBytes = maximumTextBytes
  }

  deinit { block.deallocate() }

  /// Whether offsets in the text are offsets in the file.
  var isPlainFile: Bool { if case .plain = encoding { input.isRegular && beginning == nil && converter == nil } else { false } }

  /// Reads available bytes without blocking; returns their number, 0 at the end, and nil if none are available yet.
  func read(into destination: UnsafeMutableRawBufferPointer) throws(InputError) -> Int? {
    guard let count = try readText(into: destination) else { return nil }
    textBytes += UInt64(count)
    if let maximumTextBytes, textBytes > maximumTextBytes {
      throw InputError("it is larger than \(maximumTextBytes >> 20) MiB uncompressed; split it")
    }
    return count
  }

  private func readText(into destination: UnsafeMutableRawBufferPointer) throws(InputError) -> Int? {
    if beginning == nil, converter == nil { return try readMore(into: destination) }
    // Two bytes of UTF-16 become three at most.
    let room = UnsafeMutableRawBufferPointer(rebasing: destination[..<(destination.count / 2)])
    while true {
      guard let count = try readMore(into: room) else { return nil }
      var bytes = Array(room[..<count])
      let isLast = count == 0
      if let first = beginning {
        bytes = first + bytes
        beginning = isLast || bytes.count > 1 || bytes[0] < 0xfe ? nil : bytes
        if beginning != nil { continue }
        // The mark is kept, so that readers know the encoding whatever a declaration in the text says.
        if bytes.starts(with: [0xfe, 0xff]) { converter = TextConverter(from: "UTF-16BE", replacesInvalid: true) }
        if bytes.starts(with: [0xff, 0xfe]) { converter = TextConverter(from: "UTF-16LE", replacesInvalid: true) }
      }
      if let converter { bytes = bytes.withUnsafeBytes { converter.utf8(of: $0, isLast: isLast) } }
      destination.copyBytes(from: bytes)
      if !bytes.isEmpty || isLast { return bytes.count }
    }
  }

  private func readMore(into destination: UnsafeMutableRawBufferPointer) throws(InputError) -> Int? {
    while true {
      switch encoding {
      case .unknown where unread.count >= 2 || isAtEnd:
        let isGzip = block[unread].starts(with: [0x1f, 0x8b])
        encoding = isGzip ? .gzip(GzipInflater()) : .plain
      case .unknown: guard try fillBlock() else { return nil }
      case .plain:
        if !unread.isEmpty { return copyUnread(into: destination) }
        if isAtEnd { return 0 }
        guard input.isReady else { return nil }
        let count = try input.read(into: destination)
        consumedBytes += UInt64(count)
        isAtEnd = count == 0
        return count
      case .gzip(let inflater):
        var source = block[unread]
        let count = try inflater.inflate(&source, into: destination)
        consumedBytes += UInt64(unread.count - source.count)
        unread = source.startIndex..<source.endIndex
        if count > 0 { return count }
        if isAtEnd {
          try inflater.finish()
          return 0
        }
        guard try fillBlock() else { return nil }
      }
    }
  }

  private func copyUnread(into destination: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(unread.count, destination.count)
    destination.copyMemory(from: UnsafeRawBufferPointer(rebasing: block[unread.prefix(count)]))
    unread = (unread.lowerBound + count)..<unread.upperBound
    consumedBytes += UInt64(count)
    return count
  }

  /// Appends bytes to the block; returns false if none are available yet.
  private func fillBlock() throws(InputError) -> Bool {
    guard input.isReady else { return false }
    if unread.isEmpty { unread = 0..<0 }
    let count = try input.read(into: UnsafeMutableRawBufferPointer(rebasing: block[unread.upperBound...]))
    unread = unread.lowerBound..<(unread.upperBound + count)
    isAtEnd = count == 0
    return true
  }
}

/// A descriptor that lists are read from; `deinit` closes it if this object owns it.
final class InputDescriptor {
  let descriptor: Int32
  /// Whether it is a file with a size, which is never waited for.
  let isRegular: Bool
  /// The file's length in bytes; nil if it has none.
  let size: UInt64?
  private let isOwned: Bool

  /// Opens the file at that path.
  convenience init(path: String) throws(InputError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      let code = errno
      // Only the sandbox refuses a file that the user may read: it knows the files that were there at the start.
      let isReplaced = code == EACCES && access(path, R_OK) == 0
      let reason = isReplaced ? "it was replaced during the run; run again, or use --no-sandbox" : errorSentence(code)
      throw InputError("cannot open it: \(reason)")
    }
    try self.init(descriptor: descriptor, isOwned: true)
  }

  init(descriptor: Int32, isOwned: Bool) throws(InputError) {
    self.descriptor = descriptor
    self.isOwned = isOwned
    var status = stat()
    let result = fstat(descriptor, &status)
    isRegular = result == 0 && status.st_mode & S_IFMT == S_IFREG
    size = isRegular ? UInt64(status.st_size) : nil
    // If this throws, `deinit` closes the descriptor.
    guard result == 0 else { throw InputError(systemCall: "fstat") }
    guard status.st_mode & S_IFMT != S_IFDIR else {
      throw InputError("it is a folder; name the files in it with a pattern such as lists/*.txt")
    }
  }

  deinit { if isOwned { close(descriptor) } }

  /// Whether a read would return bytes or the end without blocking.
  var isReady: Bool {
    if isRegular { return true }
    var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return Glibc.poll(&poll, 1, 0) != 0
  }

  /// Reads at most the length of `destination`; returns 0 at the end.
  func read(into destination: UnsafeMutableRawBufferPointer) throws(InputError) -> Int {
    let count = uninterrupted { Glibc.read(descriptor, destination.baseAddress, destination.count) }
    guard count >= 0 else { throw InputError(systemCall: "read") }
    return count
  }
}

/// Decompresses a gzip file of one or more members (RFC 1952 section 2.2) with zlib.
final class GzipInflater {
  /// Lists of URLs compress about 20:1. A large file above this ratio is a decompression bomb.
  private static let maximumRatio: UInt64 = 500
  private static let ratioCheckBytes: UInt64 = 64 << 20

  // zlib keeps the address of its stream.
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  private var isInMember = false
  private var receivedBytes: UInt64 = 0
  private var inflatedBytes: UInt64 = 0
  /// An error found after good bytes, which are returned first.
  private var failure: InputError?

  init() {
    stream.initialize(to: z_stream())
    // 16 more than the window size means gzip only.
    let status = inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard status == Z_OK else {
      fatalError("inflateInit2: status \(status); out of memory, or zlib differs from the one at build time")
    }
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  /// Decompresses `input`, which is advanced, into `output`, and returns the number of bytes written; 0 means that it
  /// needs more input.
  func inflate(
    _ input: inout Slice<UnsafeMutableRawBufferPointer>,
    into output: UnsafeMutableRawBufferPointer
  ) throws(InputError) -> Int {
    var written = 0
    while written < output.count, !input.isEmpty, failure == nil {
      if isInMember {
        written += inflateMember(&input, into: UnsafeMutableRawBufferPointer(rebasing: output[written...]))
      } else if input.first == 0x1f {
        // The second byte of a member may arrive later; zlib then checks the header.
        inflateReset(stream)
        isInMember = true
      } else {
        // Tapes and some tools pad with zeros, which gzip(1) ignores.
        input = input.drop { $0 == 0 }
        if let next = input.first, next != 0x1f {
          failure = InputError("unexpected bytes after the gzip data; compress the file again")
        }
      }
    }
    if let failure, written == 0 { throw failure }
    return written
  }

  /// Must be called at the end of the input: throws if a member is incomplete.
  func finish() throws(InputError) { if isInMember { throw InputError("the gzip data is truncated; get a complete file") } }

  private func inflateMember(
    _ input: inout Slice<UnsafeMutableRawBufferPointer>,
    into output: UnsafeMutableRawBufferPointer
  ) -> Int {
    let available = UnsafeMutableRawBufferPointer(rebasing: input)
    stream.pointee.next_in = available.bindMemory(to: UInt8.self).baseAddress
    stream.pointee.avail_in = UInt32(available.count)
    stream.pointee.next_out = output.bindMemory(to: UInt8.self).baseAddress
    stream.pointee.avail_out = UInt32(output.count)
    let status = CZlib.inflate(stream, Z_NO_FLUSH)
    let taken = available.count - Int(stream.pointee.avail_in)
    let written = output.count - Int(stream.pointee.avail_out)
    input = input[(input.startIndex + taken)...]
    receivedBytes += UInt64(taken)
    inflatedBytes += UInt64(written)
    switch status {
    case Z_STREAM_END: isInMember = false
    case Z_OK, Z_BUF_ERROR: break
    default:
      let detail = stream.pointee.msg.map { String(cString: $0) } ?? "status \(status)"
      failure = InputError("the gzip data is corrupt: \(detail)")
    }
    if inflatedBytes > Self.ratioCheckBytes, inflatedBytes / Self.maximumRatio > receivedBytes {
      failure = InputError("the gzip data expands more than \(Self.maximumRatio)-fold, which suggests a decompression bomb")
    }
    return written
  }
}
