import ImagePrimitives

/// Properties of a file that libavif doesn't report or limit, parsed from its boxes (ISO/IEC 14496-12, section 4.2).
///
/// libavif looks up entries of some tables one by one in other tables, and allocates memory for every box: a megabyte of them could
/// keep it busy for minutes. Malformed boxes are left for libavif to reject.
struct AVIFStructure {
  /// The number of entries in the item information box.
  private(set) var items = 0
  /// How often an animation is shown; 0: forever.
  private(set) var loopCount = 0
  private var boxes = 0
  private var tableBytes = 0
  private var hasTrack = false
  private let bytes: ByteView

  /// The maximum number of frames in a sequence.
  static let maximumFrames: UInt32 = 65_536
  private static let maximumBoxes = 10_000
  /// Enough for 5,000 frames with alpha or a grid of 5,000 cells.
  private static let maximumTableBytes = 512 << 10
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
      boxes += 1
      guard boxes <= Self.maximumBoxes else {
        throw .undecodable("the AVIF file has more than \(Self.maximumBoxes) boxes")
      }
      try visit(box, depth: depth)
      offset = box.body.upperBound
    }
  }

  private mutating func visit(_ box: FileBox, depth: Int) throws(ImageError) {
    if box.isAny(of: ["moov", "mdia", "minf", "stbl", "iprp", "ipco", "dinf"]) {
      try walk(box.body, depth: depth + 1)
    } else if box.isAny(of: ["trak"]) {
      if !hasTrack { loopCount = bytes.loopCount(ofTrack: box.body) }
      hasTrack = true
      try walk(box.body, depth: depth + 1)
    } else if box.isAny(of: ["meta"]) {
      // In a full box, version and flags come first.
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

/// A box of an ISO base media file (ISO/IEC 14496-12, section 4.2).
struct FileBox {
  /// The range of its content in the file.
  let body: Range<Int>
  private let type: Int

  fileprivate init(type: Int, body: Range<Int>) {
    self.type = type
    self.body = body
  }

  func isAny(of types: [StaticString]) -> Bool { types.contains { Self.code($0) == type } }

  fileprivate static func code(_ type: StaticString) -> Int {
    (0..<4).reduce(0) { $0 << 8 | Int(type.utf8Start[$1]) }
  }
}

extension ByteView {
  /// The box that starts at `offset` and ends within `range`; nil if there is none.
  func box(at offset: Int, within range: Range<Int>) -> FileBox? {
    guard let size = bigEndian32(at: offset), let type = bigEndian32(at: offset + 4) else { return nil }
    var start = offset + 8
    var length = size
    if size == 1 {
      guard let high = bigEndian32(at: start), let low = bigEndian32(at: start + 4), high < 1 << 30 else { return nil }
      length = high << 32 | low
      start += 8
    } else if size == 0 {
      length = range.upperBound - offset
    }
    guard length >= start - offset, length <= range.upperBound - offset else { return nil }
    return FileBox(type: type, body: start..<offset + length)
  }

  /// The content of the first box of that type in `range`.
  func firstBox(_ type: StaticString, in range: Range<Int>) -> Range<Int>? {
    var offset = range.lowerBound
    while let box = box(at: offset, within: range) {
      if box.isAny(of: [type]) { return box.body }
      offset = box.body.upperBound
    }
    return nil
  }
}
