import Platform

/// Follows the structure of an image as its bytes arrive, to detect whether it is complete.
///
/// It verifies nothing else: an image that is complete may still be undecodable. Bytes after the end don't matter.
package struct ImageEnd {
  package enum Verdict: Sendable, Hashable {
    /// All bytes up to the image's end are here, or the body is text rather than an image.
    case reached
    /// The format marks its end, and the mark is missing.
    case missing
    /// The format doesn't mark its end, or it is unknown.
    case unknowable
  }

  private enum State {
    case beginning
    case jpegData, jpegMarker, jpegSegment
    case pngChunk
    case gifHeader, gifBlock, gifExtension, gifImage, gifData
    case webpHeader, bmpHeader
    case box, largeBox
    case svg
    /// The end is reached once nothing is left to skip.
    case ended
    case broken
    case unknowable
  }

  private var state = State.beginning
  /// The number of bytes to ignore next.
  private var skipped = 0
  /// The bytes of the next part so far, which is read once it has ``needed`` bytes.
  private var part: [UInt8] = []
  private var needed = ImageFormat.prefixLength
  /// The boxes of ISO 14496-12 seen so far.
  private var (hasItems, hasData) = (false, false)

  package init() {}

  package mutating func add(_ bytes: UnsafeRawBufferPointer) {
    var rest = bytes[...]
    while !rest.isEmpty {
      if skipped > 0 {
        let count = min(skipped, rest.count)
        skipped -= count
        rest = rest.dropFirst(count)
        continue
      }
      switch state {
      case .ended, .broken, .unknowable: return
      case .jpegData:
        guard let base = UnsafeRawBufferPointer(rebasing: rest).baseAddress, let found = memchr(base, 0xFF, rest.count) else {
          return
        }
        rest = rest.dropFirst(UnsafeRawPointer(found) - base + 1)
        state = .jpegMarker
      case .jpegMarker:
        readMarker(rest.removeFirst())
      case .svg:
        part = Array((part + rest).suffix(64))
        return
      default:
        let taken = rest.prefix(needed - part.count)
        part.append(contentsOf: taken)
        rest = rest.dropFirst(taken.count)
        if part.count == needed { read() }
      }
    }
  }

  /// The verdict once no more bytes follow.
  package mutating func verdict() -> Verdict {
    if case .beginning = state { begin() }
    switch state {
    case .ended: return skipped == 0 ? .reached : .missing
    case .box: return skipped == 0 && part.isEmpty && hasItems && hasData ? .reached : .missing
    // Only white space and comments may follow the root element, and rarely do.
    case .svg: return String(decoding: part, as: UTF8.self).trimmedEnd.hasSuffix("svg>") ? .reached : .unknowable
    case .unknowable: return .unknowable
    default: return .missing
    }
  }

  private mutating func expect(_ next: State, _ count: Int, afterSkipping gap: Int = 0) {
    state = next
    needed = count
    skipped = gap
    part.removeAll(keepingCapacity: true)
  }

  private mutating func read() {
    if case .beginning = state {
      // A longer comment or document type may precede the first element of an SVG.
      if let more = part.withUnsafeBytes({ ContentSniff.bytesNeeded(after: $0) }), more > needed {
        needed = more
      } else {
        begin()
      }
      return
    }
    let bytes = part
    bytes.withUnsafeBytes { read(ByteView($0)) }
  }

  /// Detects the format by the first bytes, then processes them again.
  private mutating func begin() {
    let first = part
    let sniff = first.withUnsafeBytes { ContentSniff(prefix: $0) }
    // It ends before the first element.
    if first.withUnsafeBytes({ ContentSniff.bytesNeeded(after: $0) }) != nil { return expect(.unknowable, 0) }
    switch sniff {
    case .image(.jpeg): expect(.jpegData, 0, afterSkipping: 2)
    case .image(.png): expect(.pngChunk, 8, afterSkipping: 8)
    case .image(.gif): expect(.gifHeader, 13)
    case .image(.webp): expect(.webpHeader, 12)
    case .image(.bmp): expect(.bmpHeader, 6)
    case .image(.avif), .image(.heic): expect(.box, 8)
    // The end of compressed data isn't known without decompressing it.
    case .image(.svg): expect(first.first == 0x1F ? .unknowable : .svg, 0)
    case .html, .xml, .json, .text: expect(.ended, 0)
    case .image(.tiff), .image(.ico), .image(.jpegXL), .unknown, .empty: expect(.unknowable, 0)
    }
    first.withUnsafeBytes { add($0) }
  }

  private mutating func read(_ bytes: ByteView) {
    switch state {
    case .jpegSegment:
      let length = bytes.bigEndian16(at: 0) ?? 0
      expect(.jpegData, 0, afterSkipping: max(0, length - 2))
    case .pngChunk:
      let length = (bytes.bigEndian32(at: 0) ?? 0) + 4
      bytes.matches("IEND", at: 4) ? expect(.ended, 0, afterSkipping: length) : expect(.pngChunk, 8, afterSkipping: length)
    case .webpHeader:
      expect(.ended, 0, afterSkipping: max(0, (bytes.littleEndian32(at: 4) ?? 0) - 4))
    case .bmpHeader:
      let length = bytes.littleEndian32(at: 2) ?? 0
      // Some writers leave the size out.
      expect(length > 6 ? .ended : .unknowable, 0, afterSkipping: max(0, length - 6))
    case .box, .largeBox: readBox(bytes)
    default: readGIF(bytes)
    }
  }

  /// Reads a JPEG marker (ITU-T T.81, section B.1.1); bytes between segments are searched like entropy-coded data.
  private mutating func readMarker(_ code: UInt8) {
    switch code {
    case 0xFF: break
    case 0x00, 0x01, 0xD0...0xD8: state = .jpegData
    case 0xD9: expect(.ended, 0)
    default: expect(.jpegSegment, 2)
    }
  }

  /// Blocks of GIF (GIF89a, sections 18 to 27).
  private mutating func readGIF(_ bytes: ByteView) {
    let first = Int(bytes.byte(at: 0) ?? 0)
    let colors = { (flags: UInt8?) in (flags ?? 0) & 0x80 == 0 ? 0 : 3 << (Int((flags ?? 0) & 7) + 1) }
    switch state {
    case .gifHeader: expect(.gifBlock, 1, afterSkipping: colors(bytes.byte(at: 10)))
    case .gifBlock:
      switch first {
      case 0x21: expect(.gifExtension, 1)
      case 0x2C: expect(.gifImage, 9)
      case 0x3B: expect(.ended, 0)
      // Decoders ignore stray terminators.
      case 0x00: expect(.gifBlock, 1)
      default: expect(.broken, 0)
      }
    case .gifExtension: expect(.gifData, 1)
    // Skip the colour table and the minimum code size.
    case .gifImage: expect(.gifData, 1, afterSkipping: colors(bytes.byte(at: 8)) + 1)
    default: first == 0 ? expect(.gifBlock, 1) : expect(.gifData, 1, afterSkipping: first)
    }
  }

  /// Boxes of ISO 14496-12, section 4.2: an image is complete if it has items or tracks, and their data.
  private mutating func readBox(_ bytes: ByteView) {
    if bytes.matches("meta", at: 4) || bytes.matches("moov", at: 4) { hasItems = true }
    if bytes.matches("mdat", at: 4) { hasData = true }
    let length = bytes.bigEndian32(at: 0) ?? 0
    switch (state, length) {
    case (.box, 0): expect(.unknowable, 0)
    case (.box, 1):
      needed = 16
      state = .largeBox
    case (.box, 8...): expect(.box, 8, afterSkipping: length - 8)
    case (.largeBox, _):
      let (high, low) = (bytes.bigEndian32(at: 8) ?? 0, bytes.bigEndian32(at: 12) ?? 0)
      // Reject sizes that overflow an `Int` or are smaller than the box's header.
      guard high < 1 << 31, high << 32 | low >= 16 else { return expect(.broken, 0) }
      expect(.box, 8, afterSkipping: (high << 32 | low) - 16)
    default: expect(.broken, 0)
    }
  }
}

extension String {
  fileprivate var trimmedEnd: Substring {
    var rest = self[...]
    while rest.last?.isWhitespace == true { rest.removeLast() }
    return rest
  }
}
