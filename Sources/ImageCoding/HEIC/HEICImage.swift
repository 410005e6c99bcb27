#if LoadedFormats
import Base

/// A picture of a HEIC file: coded, or derived from coded ones (ISO/IEC 23008-12, section 6.6).
struct HEICImage {
  let number: Int
  /// As displayed.
  private(set) var placement: HEICPlacement
  /// The picture with its opacity; nil if it has none.
  private(set) var alpha: Int?
  /// The sizes of the coded pictures, each once.
  private(set) var codedSizes: Set<ImageSize> = []
  private(set) var chroma = HEICChroma.color420
  /// Bits per sample.
  private(set) var depth = 8
  /// The coded picture whose properties describe the others.
  private(set) var codedNumber: Int

  /// Checks everything that libheif relies on; throws if the picture isn't of a supported kind.
  init(_ number: Int, of items: HEICItems, isComplete: Bool) throws(ImageError) {
    self.number = number
    codedNumber = number
    placement = HEICPlacement(size: ImageSize(width: 0, height: 0))
    try addPictures(of: number, items, isComplete: isComplete)
    placement = try Self.placement(of: number, items)
    // libheif may take others for alpha planes, too.
    for other in items.auxiliaries[number] ?? [] {
      if ["iden", "iovl", "av01", "vvc1"].contains(where: { items.items[other]?.type == $0 }) {
        throw Self.unsupported(other, items, as: " as an auxiliary picture")
      }
      var auxiliary = self
      if ["hvc1", "grid"].contains(where: { items.items[other]?.type == $0 }) {
        try auxiliary.addPictures(of: other, items, isComplete: isComplete)
      }
      // It shows an alpha plane of another size in some versions only.
      guard items.isAlpha(other), try Self.placement(of: other, items).size == placement.size else { continue }
      guard alpha == nil else { throw .undecodable("\(Self.name(number)) has two alpha planes") }
      alpha = other
      codedSizes = auxiliary.codedSizes
      depth = max(depth, auxiliary.depth)
    }
  }

  /// Adds the coded pictures that a picture consists of.
  private mutating func addPictures(of number: Int, _ items: HEICItems, isComplete: Bool) throws(ImageError) {
    guard let item = items.items[number] else { throw .undecodable("\(Self.name(number)) doesn't exist") }
    if item.type == "hvc1" {
      guard let configuration = items.property("hvcC", of: number) else {
        throw .undecodable("\(Self.name(number)) has no decoder configuration (hvcC)")
      }
      // ISO/IEC 14496-15, section 8.3.3.1.
      let start = configuration.lowerBound
      chroma = HEICChroma(rawValue: Int(items.bytes.byte(at: start + 16) ?? 0) & 3) ?? .color420
      depth = 8 + Int(items.bytes.byte(at: start + 17) ?? 0) & 7
      codedNumber = number
      codedSizes.insert(try Self.size(of: number, items))
    } else if item.type == "grid" {
      try addTiles(of: number, items, isComplete: isComplete)
    } else if item.type == "iden" {
      let inputs = items.references["dimg"]?[number] ?? []
      guard inputs.count == 1, let type = items.items[inputs[0]]?.type, items.auxiliaries[inputs[0]] == nil,
        type == "hvc1" || type == "grid"
      else { throw Self.unsupported(number, items) }
      try addPictures(of: inputs[0], items, isComplete: isComplete)
    } else {
      throw Self.unsupported(number, items)
    }
  }

  /// Adds the tiles of a grid (ISO/IEC 23008-12, section 6.6.2.3).
  private mutating func addTiles(of number: Int, _ items: HEICItems, isComplete: Bool) throws(ImageError) {
    let size = try Self.size(of: number, items)
    let tiles = items.references["dimg"]?[number] ?? []
    guard let first = tiles.first else { throw .undecodable("\(Self.name(number)) is a grid without tiles") }
    let tileSize = try Self.size(of: first, items)
    for tile in tiles {
      guard items.items[tile]?.type == "hvc1", items.auxiliaries[tile] == nil else {
        throw Self.unsupported(tile, items, as: " as the tile of a grid")
      }
      let placement = try Self.placement(of: tile, items)
      guard placement.size == tileSize, placement.orientation == 1 else {
        throw .undecodable("the tiles of \(Self.name(number)) have different sizes")
      }
      try addPictures(of: tile, items, isComplete: isComplete)
    }
    codedNumber = first
    guard let grid = try items.grid(of: number, isComplete: isComplete) else { return }
    guard grid.columns * grid.rows == tiles.count else {
      throw .undecodable("\(Self.name(number)) is a grid of \(grid.columns) x \(grid.rows) tiles, but has \(tiles.count)")
    }
    let (width, height) = (grid.columns * tileSize.width, grid.rows * tileSize.height)
    guard grid.size == size else {
      throw .undecodable(
        "the HEIC container says \(size.width) x \(size.height) pixels, its grid \(grid.size.width) x \(grid.size.height)"
      )
    }
    guard width >= size.width, height >= size.height else {
      let whole = "\(size.width) x \(size.height)"
      throw .undecodable("the tiles of \(Self.name(number)) cover \(width) x \(height) of its \(whole) pixels")
    }
  }

  /// The size of a picture (ispe) with its transformations applied in the given order (ISO/IEC 23008-12, section 6.5).
  private static func placement(of number: Int, _ items: HEICItems, isInput: Bool = false) throws(ImageError) -> HEICPlacement {
    var placement = HEICPlacement(size: try size(of: number, items))
    if !isInput, items.items[number]?.type == "iden",
      let input = items.references["dimg"]?[number]?.first
    {
      placement = try self.placement(of: input, items, isInput: true)
    }
    for index in items.items[number]?.properties ?? [] {
      guard items.properties.indices.contains(index) else { throw .undecodable("\(name(number)) has an unknown property") }
      let box = items.properties[index]
      let value = items.bytes.byte(at: box.body.lowerBound) ?? 0
      if box.type == "irot" {
        placement.rotate(quarters: Int(value & 3))
      } else if box.type == "imir" {
        placement.mirror(isHorizontal: value & 1 != 0)
      } else if box.type == "clap", !placement.crop(items.bytes, box.body) {
        throw .undecodable("the clean aperture (clap) of \(name(number)) isn't inside of it")
      }
    }
    return placement
  }

  private static func size(of number: Int, _ items: HEICItems) throws(ImageError) -> ImageSize {
    guard let box = items.property("ispe", of: number), let width = items.bytes.bigEndian32(at: box.lowerBound + 4),
      let height = items.bytes.bigEndian32(at: box.lowerBound + 8), box.count >= 12
    else { throw .undecodable("\(name(number)) has no size (ispe)") }
    guard width > 0, height > 0 else { throw .undecodable("\(name(number)) has \(width) x \(height) pixels") }
    return ImageSize(width: width, height: height)
  }

  private static func unsupported(_ number: Int, _ items: HEICItems, as role: String = "") -> ImageError {
    let type = items.items[number].map { FileBox.name($0.type) } ?? "missing"
    return .undecodable("\(name(number)) is of type \(type), which isn't supported\(role)")
  }

  private static func name(_ number: Int) -> String { "item \(number) of the HEIC file" }
}

extension HEICItems {
  /// The first property of that type.
  func property(_ type: String, of number: Int) -> Range<Int>? {
    let boxes = items[number]?.properties?.lazy.compactMap { properties.indices.contains($0) ? properties[$0] : nil }
    return boxes?.first { $0.type == type }?.body
  }

  /// Whether an auxiliary picture is an alpha plane (ISO/IEC 23000-22, section 7.3.5.2).
  func isAlpha(_ number: Int) -> Bool {
    guard let start = property("auxC", of: number)?.lowerBound else { return false }
    let names: [StaticString] = [
      "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0", "urn:mpeg:hevc:2015:auxid:1\0", "urn:mpeg:avc:2015:auxid:1\0",
    ]
    return names.contains { bytes.matches($0, at: start + 4) }
  }

  /// The size and the number of tiles of a grid; nil if they aren't in the prefix.
  func grid(of number: Int, isComplete: Bool) throws(ImageError) -> (columns: Int, rows: Int, size: ImageSize)? {
    guard let data = items[number]?.extents?.first, bytes.has(8, at: data.lowerBound) else {
      guard isComplete else { return nil }
      throw .undecodable("item \(number) of the HEIC file is a grid without data")
    }
    let start = data.lowerBound
    let isLong = (bytes.byte(at: start + 1) ?? 0) & 1 != 0
    guard isComplete || bytes.has(12, at: start) else { return nil }
    let width = isLong ? bytes.bigEndian32(at: start + 4) : bytes.bigEndian16(at: start + 4)
    let height = isLong ? bytes.bigEndian32(at: start + 8) : bytes.bigEndian16(at: start + 6)
    guard data.count >= (isLong ? 12 : 8), let width, let height else {
      throw .undecodable("item \(number) of the HEIC file is a grid without a size")
    }
    let (rows, columns) = (Int(bytes.byte(at: start + 2) ?? 0) + 1, Int(bytes.byte(at: start + 3) ?? 0) + 1)
    return (columns, rows, ImageSize(width: width, height: height))
  }
}

/// The chroma formats of HEVC, with their numbers (Rec. ITU-T H.265, table 6-1).
enum HEICChroma: Int {
  case gray, color420, color422, color444
}

/// How a stored picture is displayed: cropped, rotated and mirrored (ISO/IEC 23008-12, section 6.5).
struct HEICPlacement {
  /// The displayed size.
  private(set) var size: ImageSize
  /// The EXIF orientation with the same effect as the rotations and mirrorings so far.
  private(set) var orientation = 1

  init(size: ImageSize) { self.size = size }

  /// The size before it is rotated.
  var storedSize: ImageSize { orientation >= 5 ? ImageSize(width: size.height, height: size.width) : size }

  /// Rotates anti-clockwise.
  mutating func rotate(quarters: Int) {
    for _ in 0..<quarters {
      orientation = [8, 5, 6, 7, 4, 1, 2, 3][orientation - 1]
      size = ImageSize(width: size.height, height: size.width)
    }
  }

  /// Exchanges left and right, or else top and bottom.
  mutating func mirror(isHorizontal: Bool) {
    orientation = (isHorizontal ? [2, 1, 4, 3, 6, 5, 8, 7] : [4, 3, 2, 1, 8, 7, 6, 5])[orientation - 1]
  }

  /// The width, the height, and the offsets of the centre of a clean aperture (ISO/IEC 14496-12, section 12.1.4), in halves of pixels.
  /// Nil if it has larger numbers or other fractions: libheif 1.15 divides by zero for some.
  static func aperture(_ bytes: ByteView, _ box: Range<Int>) -> [Int]? {
    let numbers = (0..<8).map { Int(Int32(truncatingIfNeeded: bytes.bigEndian32(at: box.lowerBound + 4 * $0) ?? 0)) }
    guard box.count >= 32, numbers.allSatisfy({ abs($0) <= longestSide }),
      [1, 3, 5, 7].allSatisfy({ numbers[$0] == 1 || numbers[$0] == 2 })
    else { return nil }
    return [0, 2, 4, 6].map { numbers[$0] * 2 / numbers[$0 + 1] }
  }

  private static let longestSide = 1 << 16

  /// Crops to a clean aperture; returns false if it isn't inside.
  mutating func crop(_ bytes: ByteView, _ box: Range<Int>) -> Bool {
    guard let halves = Self.aperture(bytes, box) else { return false }
    let (width, height) = (halves[0] / 2, halves[1] / 2)
    let left = halves[2] + size.width - width
    let top = halves[3] + size.height - height
    guard width > 0, height > 0, halves[0] % 2 == 0, halves[1] % 2 == 0, left >= 0, top >= 0,
      left <= 2 * (size.width - width), top <= 2 * (size.height - height), max(size.width, size.height) <= Self.longestSide
    else { return false }
    size = ImageSize(width: width, height: height)
    return true
  }
}
#endif
