#if LoadedFormats
import Base

/// What a HEIC file contains: its header, and the pictures to decode.
struct HEICHeader {
  let header: ImageHeader
  /// The pictures that programs may show, the primary one first. Thumbnails, depth maps and other auxiliary pictures aren't among
  /// them.
  let images: [HEICImage]
  /// The memory that libheif needs for the data of items.
  let itemBytes: Int
  /// The longest side of a picture.
  let longestSide: Int

  /// Reads the header of a file from its first bytes, without the library; if `isComplete`, checks that all data are there.
  init(of bytes: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) {
    guard ImageFormat(prefix: bytes) == .heic else {
      throw ImageError(.notAnImage, "not a HEIC file: it doesn't start with a file type box (ftyp) of brand heic or similar")
    }
    let items = try HEICItems(of: bytes, isComplete: isComplete)
    guard let primary = items.primary else { throw .undecodable("the HEIC file has no primary picture (pitm)") }
    for box in items.properties where box.type == "clap" && HEICPlacement.aperture(items.bytes, box.body) == nil {
      throw .undecodable("a clean aperture (clap) of the HEIC file isn't one of pixels")
    }
    if isComplete { try items.checkExtents() }
    let image = try HEICImage(primary, of: items, isComplete: isComplete)
    var images = [image]
    for other in items.otherPictures(besides: primary) { images.append(try HEICImage(other, of: items, isComplete: isComplete)) }
    self.images = images
    (itemBytes, longestSide) = (items.dataBytes, items.longestSide)
    var header = ImageHeader(
      format: .heic,
      size: image.placement.storedSize,
      hasAlpha: image.alpha != nil,
      colorSpace: items.colorSpace(of: image)
    )
    (header.frames, header.orientation) = (images.count, image.placement.orientation)
    header.profile = items.profile(of: primary) ?? items.profile(of: image.codedNumber)
    header.add(items.exif(of: primary))
    self.header = header
  }
}

extension HEICItems {
  /// Throws if data of an item are beyond the end of the file.
  func checkExtents() throws(ImageError) {
    for (number, item) in items.sorted(by: { $0.key < $1.key }) {
      guard let last = item.extents?.map(\.upperBound).max(), last > bytes.count else { continue }
      throw .undecodable("the HEIC file is truncated: it has \(bytes.count) bytes, but item \(number) ends at \(last)")
    }
  }

  /// The pictures of supported kinds, in ascending order, that aren't hidden, parts of others, thumbnails, or auxiliary.
  func otherPictures(besides primary: Int) -> [Int] {
    let kinds = ["hvc1", "grid", "iden"]
    var inputs = Set((references["dimg"] ?? [:]).values.joined())
    for type in ["auxl", "thmb"] { inputs.formUnion((references[type] ?? [:]).keys) }
    return items.filter { kinds.contains($0.value.type) && !$0.value.isHidden && $0.key != primary && !inputs.contains($0.key) }
      .keys.sorted()
  }

  /// libheif copies the data of all items, and inflates compressed ones, which may become 1,032 times as large (RFC 1951).
  var dataBytes: Int {
    items.values.reduce(0) { sum, item in
      let bytes = (item.extents ?? []).reduce(0) { min(.max / 4096, $0 + $1.count) }
      return min(.max / 4, sum + bytes * (item.isDeflated ? 1033 : 1))
    }
  }

  /// The longest side of any picture.
  var longestSide: Int {
    properties.filter { $0.type == "ispe" }.reduce(1) { longest, box in
      let start = box.body.lowerBound
      return max(longest, bytes.bigEndian32(at: start + 4) ?? 0, bytes.bigEndian32(at: start + 8) ?? 0)
    }
  }

  /// The EXIF metadata that describe a picture, as far as they are in the prefix: after the length of a name and that name (ISO/IEC
  /// 23008-12, annex A.2.1).
  func exif(of number: Int) -> EXIF {
    let described = references["cdsc"] ?? [:]
    let blocks = items.filter { $0.value.type == "Exif" && described[$0.key]?.contains(number) != false }
    guard let data = blocks.min(by: { $0.key < $1.key })?.value.extents?.first, data.upperBound <= bytes.count,
      let name = bytes.bigEndian32(at: data.lowerBound), data.count > 4 + name
    else { return EXIF() }
    return EXIF(tiff: bytes, data.lowerBound + 4 + name..<data.upperBound)
  }

  /// The embedded profile of a picture (ISO/IEC 14496-12, section 12.1.5).
  func profile(of number: Int) -> ICCProfile? {
    guard let color = color(["prof", "rICC"], of: number) else { return nil }
    return bytes.bytes(in: color.lowerBound + 4..<color.upperBound) { ICCProfile(data: $0) }
  }

  /// The colour model: red, green and blue have matrix coefficients 0 (Rec. ITU-T H.273, table 4) and no subsampling. Nil if only the
  /// picture states its coefficients.
  func colorSpace(of image: HEICImage) -> ImageHeader.ColorSpace? {
    guard image.chroma != .gray else { return .gray }
    guard image.chroma == .color444 else { return .ycbcr }
    let stated = [image.number, image.codedNumber].lazy.compactMap { color(["nclx"], of: $0) }.first
    return stated.map { bytes.bigEndian16(at: $0.lowerBound + 8) == 0 ? .rgb : .ycbcr }
  }

  private func color(_ kinds: [StaticString], of number: Int) -> Range<Int>? {
    for index in items[number]?.properties ?? [] where properties.indices.contains(index) {
      let box = properties[index]
      guard box.type == "colr", box.body.count >= 4 else { continue }
      if kinds.contains(where: { bytes.matches($0, at: box.body.lowerBound) }) { return box.body }
    }
    return nil
  }
}
#endif
