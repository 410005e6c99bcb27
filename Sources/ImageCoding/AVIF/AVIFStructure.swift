import Base

/// Properties of a file that libavif doesn't report or limit, parsed from its boxes (ISO/IEC 14496-12, section 4.2).
///
/// libavif looks up entries of some tables one by one in other tables, and allocates memory for every box: a megabyte of them could
/// keep it busy for minutes. Malformed boxes are left for libavif to reject.
struct AVIFStructure {
  /// The number of entries in the item information box.
  private(set) var items = 0
  /// How often an animation is shown; 0: forever.
  private(set) var loopCount = 0
  private var limits = BoxLimits(format: "AVIF")
  private var hasTrack = false
  private let bytes: ByteView

  /// The maximum number of frames in a sequence.
  static let maximumFrames: UInt32 = 65_536
  private static let maximumDepth = 8

  /// Reads the available boxes; throws if there are too many.
  init(of bytes: UnsafeRawBufferPointer) throws(ImageError) {
    self.bytes = ByteView(bytes)
    try walk(0..<bytes.count, depth: 0)
  }

  private mutating func walk(_ range: Range<Int>, depth: Int) throws(ImageError) {
    guard depth < Self.maximumDepth else { return }
    var offset = range.lowerBound
    while let box = bytes.box(at: offset, within: range) {
      try limits.addBox()
      try visit(box, depth: depth)
      offset = box.body.upperBound
    }
  }

  private mutating func visit(_ box: FileBox, depth: Int) throws(ImageError) {
    switch box.type {
    case "moov", "mdia", "minf", "stbl", "iprp", "ipco", "dinf": try walk(box.body, depth: depth + 1)
    case "trak":
      if !hasTrack { loopCount = bytes.loopCount(ofTrack: box.body) }
      hasTrack = true
      try walk(box.body, depth: depth + 1)
    case "meta":
      // In a full box, version and flags come first.
      try walk(min(box.body.lowerBound + 4, box.body.upperBound)..<box.body.upperBound, depth: depth + 1)
    case "iinf", "iloc", "iref", "ipma", "stsd", "stts", "stsc", "stsz", "stco", "co64", "stss":
      try limits.addTable(bytes: box.body.count)
      if box.type == "iinf", let count = bytes.itemCount(of: box.body) { items += count }
    default: break
    }
  }
}

extension ByteView {
  /// The number of items (ISO/IEC 14496-12, section 8.11.6; 16 bits in version 0), limited to what the box has room for.
  fileprivate func itemCount(of body: Range<Int>) -> Int? {
    let start = body.lowerBound
    let count = byte(at: start) == 0 ? bigEndian16(at: start + 4) : bigEndian32(at: start + 4)
    return count.map { min($0, body.count / 12) }
  }

  /// How often a track is shown: its edit list is repeated until it fills the track's duration (ISO/IEC 23008-12, section 9.6.1). A
  /// track without an edit list is shown forever, as in browsers.
  fileprivate func loopCount(ofTrack body: Range<Int>) -> Int {
    guard let edits = firstBox("edts", in: body), let list = firstBox("elst", in: edits) else { return 0 }
    guard let head = bigEndian32(at: list.lowerBound), head & 1 != 0 else { return 1 }
    guard let track = firstBox("tkhd", in: body), let version = byte(at: track.lowerBound) else { return 0 }
    let trackDuration = duration(at: track.lowerBound + (version == 1 ? 28 : 20), isLong: version == 1)
    let editDuration = duration(at: list.lowerBound + 8, isLong: head >> 24 == 1)
    // If all bits are set, the track repeats without end.
    guard let trackDuration, let editDuration, editDuration > 0, trackDuration != .max else { return 0 }
    guard trackDuration > 0 else { return 1 }
    return Int(clamping: (trackDuration - 1) / editDuration + 1)
  }

  private func duration(at offset: Int, isLong: Bool) -> UInt64? {
    guard let high = bigEndian32(at: offset) else { return nil }
    guard isLong else { return high == 0xFFFF_FFFF ? .max : UInt64(high) }
    return bigEndian32(at: offset + 4).map { UInt64(high) << 32 | UInt64($0) }
  }
}
