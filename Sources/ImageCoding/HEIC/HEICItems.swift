#if LoadedFormats
import Base

/// The items of a HEIC file with their properties and references, from its meta box (ISO/IEC 23008-12 and ISO/IEC 14496-12, section
/// 8.11).
///
/// libheif 1.15 looks up items one by one, reads the data of all of them, follows references without end, and aborts if one leads
/// nowhere, so files are checked here before it sees them.
struct HEICItems {
  /// An item, such as a picture or EXIF metadata.
  struct Item {
    /// Four letters, such as `hvc1`; zeros if it has no information entry.
    var type = FileBox.type(0)
    var isHidden = false
    /// Whether its data are compressed by a general method.
    var isDeflated = false
    /// The ranges of its data in the file, which may be incomplete; nil if it isn't located.
    var extents: [Range<Int>]?
    /// Indices of ``HEICItems/properties`` in the order in which they apply; nil if none are associated.
    var properties: [Int]?
  }

  private(set) var primary: Int?
  /// By their number.
  private(set) var items: [Int: Item] = [:]
  private(set) var properties: [FileBox] = []
  /// References to other items, by their type and the item that they are from.
  private(set) var references: [String: [Int: [Int]]] = [:]
  /// The auxiliary pictures of pictures, such as alpha planes.
  private(set) var auxiliaries: [Int: [Int]] = [:]
  /// The end of the meta box.
  let end: Int
  let bytes: ByteView

  private var limits = BoxLimits(format: "HEIC")
  private var seenTypes: Set<String> = []
  private var dataBox: Range<Int>?

  /// The library's time is quadratic in their number; the tiles of the largest photographs are about 1,600.
  private static let maximumItems = 5_000

  /// Reads the meta box, which may be at any position; throws if there is none, or not all of it.
  init(of bytes: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) {
    self.bytes = ByteView(bytes)
    let meta = try Self.meta(of: self.bytes, limits: &limits, isComplete: isComplete)
    end = meta.upperBound
    // In a full box, version and flags come first.
    let content = min(meta.lowerBound + 4, end)..<end
    dataBox = self.bytes.firstBox("idat", in: content)
    try forEachBox(in: content) { (items, box) throws(ImageError) in try items.read(box) }
    guard items.count <= Self.maximumItems else {
      throw .undecodable("the HEIC file has \(items.count) items, but \(Self.maximumItems) are allowed")
    }
    let auxiliaries = references["auxl"] ?? [:]
    for (number, pictures) in auxiliaries.sorted(by: { $0.key < $1.key }) {
      for picture in pictures { self.auxiliaries[picture, default: []].append(number) }
      if let inner = pictures.first(where: { auxiliaries[$0] != nil }) {
        throw .undecodable("item \(inner) of the HEIC file is an auxiliary picture that has another")
      }
    }
  }

  private static func meta(of bytes: ByteView, limits: inout BoxLimits, isComplete: Bool) throws(ImageError) -> Range<Int> {
    var offset = 0
    while let box = bytes.boxHeader(at: offset, within: offset..<max(offset, bytes.count)) {
      try limits.addBox()
      let start = offset
      offset = box.body.upperBound
      guard box.type == "meta" else { continue }
      guard offset <= bytes.count else {
        throw .endsEarly("HEIC", needed: offset, from: start, of: bytes.count, isComplete: isComplete)
      }
      return box.body
    }
    guard isComplete else {
      throw .endsEarly("HEIC", needed: max(offset, bytes.count) + 8, from: offset, of: bytes.count, isComplete: false)
    }
    guard offset <= bytes.count else {
      throw .undecodable("the HEIC file is truncated: it has \(bytes.count) bytes, but a box of it ends at \(offset)")
    }
    throw .undecodable("the HEIC file has no still image: it has no box meta")
  }

  private mutating func forEachBox(
    in range: Range<Int>,
    _ body: (inout Self, FileBox) throws(ImageError) -> Void
  ) throws(ImageError) {
    var offset = range.lowerBound
    while let box = bytes.box(at: offset, within: range) {
      try limits.addBox()
      try body(&self, box)
      offset = box.body.upperBound
    }
    // libheif reads some boxes beyond their ends.
    guard offset == range.upperBound else { throw .undecodable("a box of the HEIC file ends beyond the box that contains it") }
  }

  private mutating func read(_ box: FileBox) throws(ImageError) {
    let isUnique = ["pitm", "iinf", "iloc", "iref", "iprp", "ipco", "idat"].contains(box.type)
    guard !isUnique || seenTypes.insert(box.type).inserted else {
      throw .undecodable("the HEIC file has two boxes \(FileBox.name(box.type))")
    }
    if ["iinf", "iloc", "iref", "ipma", "grpl", "dinf"].contains(box.type) { try limits.addTable(bytes: box.body.count) }
    var table = HEICTable(bytes, box.body)
    switch box.type {
    case "iprp": try forEachBox(in: box.body) { (items, box) throws(ImageError) in try items.read(box) }
    case "ipco": try forEachBox(in: box.body) { (items, box) throws(ImageError) in items.properties.append(box) }
    case "pitm": primary = table.number(of: bytes.byte(at: box.body.lowerBound) == 0 ? 2 : 4)
    case "iinf":
      table.skip(table.version == 0 ? 2 : 4)
      try forEachBox(in: table.rest) { (items, box) throws(ImageError) in try items.addItem(box) }
    case "iloc": try readLocations(&table)
    case "iref":
      let isLong = table.version > 0
      try forEachBox(in: table.rest) { (items, box) throws(ImageError) in try items.addReference(box, isLong: isLong) }
    case "ipma": try readAssociations(&table)
    default: break
    }
  }

  /// Reads an item information entry (ISO/IEC 14496-12, section 8.11.6).
  private mutating func addItem(_ box: FileBox) throws(ImageError) {
    guard box.type == "infe" else { return }
    var entry = HEICTable(bytes, box.body)
    guard entry.version >= 2 else { return }
    let number = entry.number(of: entry.version == 2 ? 2 : 4)
    entry.skip(2)
    let type = FileBox.type(entry.number(of: 4))
    guard !entry.isOverrun else { throw Self.broken("infe") }
    var isDeflated = false
    if type == "mime" {
      // A name, the type of its content, and the method of compression, if any.
      entry.skipText()
      entry.skipText()
      isDeflated = (entry.rest.first.flatMap(bytes.byte) ?? 0) != 0
    }
    var item = items[number] ?? Item()
    guard item.type == Item().type else { throw Self.twice(number, "infe") }
    (item.type, item.isHidden, item.isDeflated) = (type, entry.flags & 1 != 0, isDeflated)
    items[number] = item
  }

  /// Reads the item location box (ISO/IEC 14496-12, section 8.11.3).
  private mutating func readLocations(_ table: inout HEICTable) throws(ImageError) {
    let sizes = table.number(of: 2)
    let (offsetSize, lengthSize, baseSize) = (sizes >> 12, sizes >> 8 & 15, sizes >> 4 & 15)
    let indexSize = table.version == 0 ? 0 : sizes & 15
    guard [offsetSize, lengthSize, baseSize, indexSize].allSatisfy({ $0 == 0 || $0 == 4 || $0 == 8 }) else {
      throw Self.broken("iloc", "its numbers have sizes other than 0, 4 and 8 bytes")
    }
    for _ in 0..<table.number(of: table.version < 2 ? 2 : 4) {
      let number = table.number(of: table.version < 2 ? 2 : 4)
      let method = table.version == 0 ? 0 : table.number(of: 2) & 15
      table.skip(2)
      let base = table.number(of: baseSize)
      var extents: [Range<Int>] = []
      // Method 0 counts from the start of the file, method 1 from that of the data box.
      let origin = method == 0 ? 0 : dataBox?.lowerBound ?? .max / 4
      guard method < 2 else {
        throw .undecodable("item \(number) of the HEIC file is made of other items' data, which isn't supported")
      }
      for _ in 0..<table.number(of: 2) where !table.isOverrun {
        table.skip(indexSize)
        let offset = table.number(of: offsetSize)
        let length = table.number(of: lengthSize)
        let (start, end) = (origin + base + offset, origin + base + offset + length)
        extents.append(start..<end)
      }
      guard !table.isOverrun else { throw Self.broken("iloc") }
      guard items[number]?.extents == nil else { throw Self.twice(number, "iloc") }
      items[number, default: Item()].extents = extents
    }
  }

  private mutating func addReference(_ box: FileBox, isLong: Bool) throws(ImageError) {
    var entry = HEICTable(bytes, box.body, isFull: false)
    let from = entry.number(of: isLong ? 4 : 2)
    let count = entry.number(of: 2)
    guard !entry.isOverrun, count * (isLong ? 4 : 2) <= entry.rest.count else { throw Self.broken("iref") }
    let to = (0..<count).map { _ in entry.number(of: isLong ? 4 : 2) }
    guard entry.rest.isEmpty else { throw Self.broken("iref", "it is longer than its entries") }
    guard references[box.type, default: [:]].updateValue(to, forKey: from) == nil else {
      throw Self.broken("iref", "item \(from) has references of type \(FileBox.name(box.type)) twice")
    }
  }

  /// Reads an item property association box (ISO/IEC 23008-12, section 9.3.2).
  private mutating func readAssociations(_ table: inout HEICTable) throws(ImageError) {
    let indexSize = table.flags & 1 == 0 ? 1 : 2
    for _ in 0..<table.number(of: 4) {
      let number = table.number(of: table.version == 0 ? 2 : 4)
      let count = table.number(of: 1)
      // The highest bit marks essential properties, index 0 means none.
      let indices = (0..<count).map { _ in table.number(of: indexSize) & (indexSize == 1 ? 0x7F : 0x7FFF) }
      guard !table.isOverrun else { throw Self.broken("ipma") }
      guard items[number]?.properties == nil else { throw Self.twice(number, "ipma") }
      items[number, default: Item()].properties = indices.filter { $0 > 0 }.map { $0 - 1 }
    }
  }

  private static func twice(_ number: Int, _ box: String) -> ImageError { broken(box, "item \(number) occurs twice") }

  private static func broken(_ box: String, _ reason: String = "it is shorter than its entries") -> ImageError {
    .undecodable("the HEIC file's box \(box) is invalid: \(reason)")
  }
}

/// Reads the numbers of a table in sequence; beyond its end they are 0.
struct HEICTable {
  let version: Int
  let flags: Int
  private(set) var isOverrun = false
  private(set) var rest: Range<Int>
  private let bytes: ByteView

  /// A table that starts with version and flags if it `isFull`.
  init(_ bytes: ByteView, _ range: Range<Int>, isFull: Bool = true) {
    self.bytes = bytes
    let head = isFull && range.count >= 4 ? bytes.bigEndian32(at: range.lowerBound) ?? 0 : 0
    (version, flags) = (head >> 24, head & 0xFF_FFFF)
    rest = min(range.lowerBound + (isFull ? 4 : 0), range.upperBound)..<range.upperBound
  }

  /// The next number of that many bytes, most significant first; numbers above 2^60 count as overruns.
  mutating func number(of count: Int) -> Int {
    guard count <= rest.count else {
      isOverrun = true
      return 0
    }
    var number = 0
    for index in 0..<count {
      if number >= 1 << 52 { isOverrun = true }
      number = (number & (1 << 52 - 1)) << 8 | Int(bytes.byte(at: rest.lowerBound + index) ?? 0)
    }
    skip(count)
    return isOverrun ? 0 : number
  }

  mutating func skip(_ count: Int) {
    if count > rest.count { isOverrun = true }
    rest = min(rest.lowerBound + count, rest.upperBound)..<rest.upperBound
  }

  /// Skips a text and the zero after it.
  mutating func skipText() {
    while let first = rest.first {
      skip(1)
      if bytes.byte(at: first) == 0 { return }
    }
  }
}
#endif
