import ImageCoding
import ImagePrimitives

/// What libavif does not tell of a file or has no limit for, by a look of our own at its boxes (ISO/IEC 14496-12, section 4.2).
///
/// libavif looks the entries of some tables up one in another, entry by entry, and allocates for every box: a megabyte of them could keep it busy
/// for minutes. Boxes that are wrong are left for it to refuse.
struct AVIFStructure {
  /// Entries of the item information box.
  private(set) var items = 0
  /// How often an animation is shown; 0: for ever.
  private(set) var loopCount = 0
  private var boxes = 0
  private var tableBytes = 0
  private var hasTrack = false
  private let bytes: ByteView

  /// Frames of a sequence at most.
  static let maximumFrames: UInt32 = 65_536
  private static let maximumBoxes = 10_000
  /// As many as 5,000 frames with alpha, or a grid of 5,000 cells, take.
  private static let maximumTableBytes = 512 << 10
  private static let maximumDepth = 8

  /// Reads the boxes that are there; throws where there are too many.
  init(of bytes: UnsafeRawBufferPointer) throws(ImageError) {
    self.bytes = ByteView(bytes)
    try walk(0..<bytes.count, depth: 0)
  }

  private mutating func walk(_ range: Range<Int>, depth: Int) throws(ImageError) {
    guard depth < Self.maximumDepth else { return }
    var offset = range.lowerBound
    while let box = bytes.box(at: offset, within: range) {
      boxes += 1
      guard boxes <= Self.maximumBoxes else {
        throw .undecodable("the AVIF file has more than \(Self.maximumBoxes) boxes")
      }
      try visit(box, depth: depth)
      offset = box.body.upperBound
    }
  }

  private mutating func visit(_ box: Box, depth: Int) throws(ImageError) {
    if box.isAny(of: ["moov", "mdia", "minf", "stbl", "iprp", "ipco", "dinf"]) {
      try walk(box.body, depth: depth + 1)
    } else if box.isAny(of: ["trak"]) {
      if !hasTrack { loopCount = bytes.loopCount(ofTrack: box.body) }
      hasTrack = true
      try walk(box.body, depth: depth + 1)
    } else if box.isAny(of: ["meta"]) {
      // A full box: version and flags come first.
      try walk(min(box.body.lowerBound + 4, box.body.upperBound)..<box.body.upperBound, depth: depth + 1)
    } else if box.isAny(of: ["iinf", "iloc", "iref", "ipma", "stsd", "stts", "stsc", "stsz", "stco", "co64", "stss"]) {
      tableBytes += box.body.count
      guard tableBytes <= Self.maximumTableBytes else {
        throw .undecodable("the AVIF file's tables of items and samples have more than \(Self.maximumTableBytes) bytes")
      }
      if box.isAny(of: ["iinf"]), let count = bytes.itemCount(of: box.body) { items += count }
    }
  }
}

extension ByteView {
  /// ISO/IEC 14496-12, section 8.11.6: 16 bits in version 0. No more than the box has room for.
  fileprivate func itemCount(of body: Range<Int>) -> Int? {
    let start = body.lowerBound
    let count = byte(at: start) == 0 ? bigEndian16(at: start + 4) : bigEndian32(at: start + 4)
    return count.map { min($0, body.count / 12) }
  }

  /// How often a track is shown: its edit list is repeated until it fills the track's duration (ISO/IEC 23008-12, section 9.6.1). A track without one
  /// is shown for ever, as browsers show it.
  fileprivate func loopCount(ofTrack body: Range<Int>) -> Int {
    guard let edits = firstBox("edts", in: body), let list = firstBox("elst", in: edits) else { return 0 }
    guard let head = bigEndian32(at: list.lowerBound), head & 1 != 0 else { return 1 }
    guard let track = firstBox("tkhd", in: body), let version = byte(at: track.lowerBound) else { return 0 }
    let trackDuration = duration(at: track.lowerBound + (version == 1 ? 28 : 20), isLong: version == 1)
    let editDuration = duration(at: list.lowerBound + 8, isLong: head >> 24 == 1)
    // All bits set: the track goes on without end.
    guard let trackDuration, let editDuration, editDuration > 0, trackDuration != .max else { return 0 }
    return max(1, Int(clamping: (trackDuration - 1) / editDuration + 1))
  }

  private func duration(at offset: Int, isLong: Bool) -> UInt64? {
    guard let high = bigEndian32(at: offset) else { return nil }
    guard isLong else { return high == 0xFFFF_FFFF ? .max : UInt64(high) }
    return bigEndian32(at: offset + 4).map { UInt64(high) << 32 | UInt64($0) }
  }
}
