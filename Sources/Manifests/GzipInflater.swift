import CZlib

/// Inflates a gzip file of one or more members (RFC 1952 section 2.2) by zlib.
final class GzipInflater {
  /// A list of URLs shrinks to a twentieth or so; beyond this, once there is much of it, the file is a bomb.
  private static let maximumRatio: UInt64 = 500
  private static let ratioCheckBytes: UInt64 = 64 << 20

  private enum Position {
    case betweenMembers, inMember, inPadding
  }

  // zlib keeps the address of its stream.
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  private var position = Position.betweenMembers
  private var receivedBytes: UInt64 = 0
  private var inflatedBytes: UInt64 = 0
  /// What was found wrong after bytes that are good, which are given first.
  private var failure: InputFailure?

  init() {
    stream.initialize(to: z_stream())
    // 16 more than the window's size means gzip and nothing else.
    let status = inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard status == Z_OK else { fatalError("inflateInit2: status \(status), out of memory or another zlib than at build time") }
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  /// Inflates from `input`, which is advanced, into `output`, and returns how many bytes it wrote there: 0 means that it needs
  /// more.
  func inflate(
    _ input: inout Slice<UnsafeMutableRawBufferPointer>,
    into output: UnsafeMutableRawBufferPointer
  ) throws(InputFailure) -> Int {
    var written = 0
    while written < output.count, !input.isEmpty, failure == nil {
      switch position {
      case .betweenMembers:
        // A member's second byte may come later; its header then tells.
        if input.first == 0x1f {
          inflateReset(stream)
          position = .inMember
        } else {
          position = .inPadding
        }
      case .inPadding:
        // Tapes and some tools pad with zeros, which gzip(1) passes over.
        if !input.allSatisfy({ $0 == 0 }) { failure = InputFailure("after the gzip data comes something else; compress it anew") }
        input = input[input.endIndex...]
      case .inMember:
        written += inflateMember(&input, into: UnsafeMutableRawBufferPointer(rebasing: output[written...]))
      }
    }
    if let failure, written == 0 { throw failure }
    return written
  }

  /// To be called where the input ends: throws where that is amid a member.
  func finish() throws(InputFailure) {
    if position == .inMember { throw InputFailure("the gzip data is cut off; the file is not whole") }
  }

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
    case Z_STREAM_END: position = .betweenMembers
    case Z_OK, Z_BUF_ERROR: break
    default:
      let detail = stream.pointee.msg.map { String(cString: $0) } ?? "status \(status)"
      failure = InputFailure("the gzip data is damaged: \(detail)")
    }
    if inflatedBytes > Self.ratioCheckBytes, inflatedBytes / Self.maximumRatio > receivedBytes {
      failure = InputFailure("the gzip data grows more than \(Self.maximumRatio)-fold, which no list of URLs does")
    }
    return written
  }
}
