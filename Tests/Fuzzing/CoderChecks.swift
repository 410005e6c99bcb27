import Base
import ImageCoding

/// Calls all functions of a coder with one file and checks that their results agree.
struct CoderChecks {
  private static let limits = DecodingLimits(
    maximumPixels: 4_000_000,
    maximumFrames: 100,
    maximumBytes: 64 << 20,
    maximumTime: .seconds(5)
  )
  /// The maximum size of images that are encoded again.
  private static let maximumEncodedPixels = 4096

  private let coder: any ImageCoder
  private let format: ImageFormat
  private let bytes: UnsafeRawBufferPointer

  init(_ coder: any ImageCoder, _ format: ImageFormat, _ bytes: UnsafeRawBufferPointer) {
    self.coder = coder
    self.format = format
    self.bytes = bytes
  }

  func run() {
    HeaderChecks.check(coder, format, bytes)
    let proof = Result { () throws(ImageError) in try coder.proveDecodable(bytes, limits: Self.limits) }
    let decoding = decode(DecodingOptions())
    switch (proof, decoding) {
    case (.success(let proof), .success(let image)):
      demand(proof.header == image.header, "verified as \(proof.header), decoded as \(image.header)")
    case (.failure(let left), .failure(let right)):
      demand(!left.message.isEmpty && !right.message.isEmpty, "an error without a message")
      demand(coder.decodesPixels || right.kind != .unavailable || left.isOfLimits, "not verified: \(left.message)")
    case (.success, .failure(let error)):
      let isExpected = !coder.decodesPixels && error.kind == .unavailable
      demand(isExpected || error.isOfLimits, "verified, but not decoded: \(error.message)")
    case (.failure(let error), .success): demand(error.isOfLimits, "decoded, but not verified: \(error.message)")
    }
    var image: DecodedImage?
    if case .success(let decoded) = decoding { image = decoded }
    if let image {
      check(image)
      checkSmaller(image)
      if image.pixels.size.pixels <= Self.maximumEncodedPixels { EncodingChecks(image, limits: Self.limits).run() }
    }
    ProgressiveChecks(coder, format, bytes, expected: image, limits: Self.limits).run()
  }

  private func decode(_ options: DecodingOptions) -> Result<DecodedImage, ImageError> {
    Result { () throws(ImageError) in try coder.decode(bytes, options: options, limits: Self.limits) }
  }

  private func check(_ image: DecodedImage) {
    demand(
      image.pixels.size == image.header.displaySize,
      "decoded to \(image.pixels.size), displayed as \(image.header.displaySize)"
    )
    demand(image.header.size.pixels <= Self.limits.maximumPixels, "\(image.header.size) is beyond the limit")
    guard let animation = image.animation else { return }
    demand(animation.frames.count > 1 && animation.frames.count <= Self.limits.maximumFrames, "\(animation.frames.count) frames")
    // A PNG may have a separate still picture.
    demand(format == .png || animation.frames[0].pixels == image.pixels, "the first frame isn't the image")
    for frame in animation.frames {
      demand(frame.pixels.size == image.pixels.size, "a frame of \(frame.pixels.size) in \(image.pixels.size)")
      demand(frame.duration >= .milliseconds(11), "a frame shown for \(frame.duration)")
    }
  }

  private func checkSmaller(_ image: DecodedImage) {
    let options = DecodingOptions(thumbnail: ImageSize(width: 17, height: 13), firstFrameOnly: true)
    switch decode(options) {
    case .success(let thumbnail):
      let size = options.decodedSize(of: image.header.displaySize)
      demand(thumbnail.pixels.size == size, "a thumbnail of \(thumbnail.pixels.size), not \(size)")
      demand(thumbnail.animation == nil, "an animation of one frame")
    case .failure(let error): demand(error.isOfLimits, "decoded, but not as a thumbnail: \(error.message)")
    }
  }
}

extension ImageError {
  /// Whether the error concerns a limit rather than the file, since one way of decoding may need more than another.
  var isOfLimits: Bool {
    switch kind {
    case .memory, .outOfMemory: true
    default: message.contains("processor time")
    }
  }
}

/// Checks that encoders write decoded images in a form that their coders can decode again.
struct EncodingChecks {
  private let image: DecodedImage
  private let limits: DecodingLimits

  init(_ image: DecodedImage, limits: DecodingLimits) {
    self.image = image
    self.limits = limits
  }

  func run() {
    for format in ImageFormat.allCases {
      guard let encoder = ImageCoderRegistry.standard.encoder(for: format),
        let coder = ImageCoderRegistry.standard.coder(for: format)
      else {
        continue
      }
      let options = EncodingOptions(quality: 50, isLossless: true)
      do throws(ImageError) {
        let bytes = try encoder.encode(image, as: format, options: options)
        let again = try bytes.withRawBytes { bytes throws(ImageError) in
          try coder.decode(bytes, options: DecodingOptions(), limits: limits)
        }
        demand(
          again.pixels.size == image.pixels.size,
          "encoded as \(format.name): \(again.pixels.size), not \(image.pixels.size)"
        )
        if format == .png { demand(again.pixels == image.pixels, "encoding as PNG changed the pixels") }
      } catch {
        demand(error.isOfLimits, "encoded as \(format.name): \(error.message)")
      }
    }
  }
}

/// Appends a file in pieces: the last image must equal the one decoded at once, except for JPEGs whose coding can't be suspended,
/// or about which the decoder warned.
struct ProgressiveChecks {
  private let coder: any ImageCoder
  private let format: ImageFormat
  private let bytes: UnsafeRawBufferPointer
  private let expected: DecodedImage?
  private let limits: DecodingLimits

  init(
    _ coder: any ImageCoder,
    _ format: ImageFormat,
    _ bytes: UnsafeRawBufferPointer,
    expected: DecodedImage?,
    limits: DecodingLimits
  ) {
    self.coder = coder
    self.format = format
    self.bytes = bytes
    self.expected = expected
    self.limits = limits
  }

  func run() {
    guard let decoder = (coder as? any ProgressiveImageCoder)?.progressiveDecoder(for: format, limits: limits) else { return }
    do throws(ImageError) {
      let last = try append(to: decoder)
      // Only a decoder of the whole file knows where it ends, and how a damaged file continues depends on the available bytes.
      guard let expected, expected.warnings.isEmpty else { return }
      guard let last else { return demand(mayBeArithmetic, "decoded, but not from pieces") }
      demand(last.pixels == expected.pixels, "its pieces yield another image")
    } catch {
      demand(expected == nil || error.isOfLimits, "decoded, but not in pieces: \(error.message)")
    }
  }

  /// Whether the bytes contain the marker of an arithmetically coded JPEG, SOF9 or SOF10.
  private var mayBeArithmetic: Bool {
    format == .jpeg && zip(bytes, bytes.dropFirst()).contains { $0 == 0xFF && ($1 == 0xC9 || $1 == 0xCA) }
  }

  /// Appends all bytes in about ten pieces, whose lengths depend on the file, and returns the last image.
  private func append(to decoder: any ProgressiveDecoder) throws(ImageError) -> DecodedImage? {
    var last: DecodedImage?
    var offset = 0
    var random = UInt64(bytes.count) &* 0x9E37_79B9_7F4A_7C15 | 1
    while offset < bytes.count {
      random ^= random << 13
      random ^= random >> 7
      random ^= random << 17
      let length = min(bytes.count - offset, 1 + Int(random % UInt64(bytes.count / 5 + 1)))
      try decoder.append(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length]))
      offset += length
      guard let image = try decoder.image() else { continue }
      demand(
        image.pixels.size == image.header.displaySize,
        "a partial image of \(image.pixels.size), displayed as \(image.header.displaySize)"
      )
      last = image
    }
    return last
  }
}

/// Tests the header probe: format detection by the first bytes, and the coder's header of any prefix.
struct HeaderChecks {
  private let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  func run() {
    _ = ContentSniff(prefix: bytes)
    guard let format = ImageFormat(prefix: bytes), let coder = ImageCoderRegistry.standard.coder(for: format) else { return }
    Self.check(coder, format, bytes)
  }

  /// The header of a prefix must match the file's as far as it goes, and a request for more bytes must exceed the prefix.
  static func check(_ coder: any ImageCoder, _ format: ImageFormat, _ bytes: UnsafeRawBufferPointer) {
    let whole = Result { () throws(ImageError) in try coder.header(of: bytes, isComplete: true) }
    if case .failure(let error) = whole {
      if case .needsMoreBytes = error.kind { fatalError("a complete file requests more bytes: \(error.message)") }
    }
    for length in [0, 3, 12, 64, bytes.count / 4, bytes.count / 2, bytes.count - 1, bytes.count]
    where (0...bytes.count).contains(length) {
      let prefix = UnsafeRawBufferPointer(rebasing: bytes[..<length])
      let stated = (coder as? any LengthStatingCoder)?.statedBytes(prefix)
      if case .success = whole, let stated { demand(stated <= bytes.count, "a good file states \(stated) bytes") }
      do throws(ImageError) {
        let header = try coder.header(of: prefix, isComplete: false)
        demand(header.format == format, "a header with format \(header.format)")
        demand(header.size.width > 0 && header.size.height > 0, "a header with size \(header.size)")
        demand((1...8).contains(header.orientation), "a header with orientation \(header.orientation)")
        guard case .success(let whole) = whole else { continue }
        demand(whole.size == header.size, "\(length) bytes have size \(header.size), the whole file \(whole.size)")
      } catch {
        guard case .needsMoreBytes(let minimum) = error.kind else { continue }
        demand(minimum > length, "a header of \(length) bytes requests \(minimum)")
        if let start = error.neededStart, start > length, start < bytes.count {
          check(coder, bytes, withoutBytes: length..<start, whole: whole)
        }
      }
    }
  }

  /// A header must have the same size without bytes that it doesn't need.
  private static func check(
    _ coder: any ImageCoder,
    _ bytes: UnsafeRawBufferPointer,
    withoutBytes gap: Range<Int>,
    whole: Result<ImageHeader, ImageError>
  ) {
    var sparse = Array(bytes)
    for index in gap { sparse[index] = 0 }
    for end in [gap.upperBound + 64, bytes.count] where end <= bytes.count {
      let header = sparse[..<end].withUnsafeBytes { bytes in
        Result { () throws(ImageError) in try coder.header(of: bytes, isComplete: false) }
      }
      sparse[..<end].withUnsafeBytes { _ = (coder as? any LengthStatingCoder)?.statedBytes($0) }
      guard case .success(let header) = header, case .success(let whole) = whole else { continue }
      demand(whole.size == header.size, "without \(gap) it has size \(header.size), the whole file \(whole.size)")
    }
  }
}

/// Corrects what every decoder checks first, so that mutations reach further code: a PNG's checksums and a RIFF's length.
enum Mending {
  static func mend(_ bytes: UnsafeMutableRawBufferPointer, as format: ImageFormat) {
    switch format {
    case .png: mendPNG(bytes)
    case .webp where bytes.count >= 12:
      bytes.storeBytes(of: UInt32(truncatingIfNeeded: bytes.count - 8).littleEndian, toByteOffset: 4, as: UInt32.self)
    default: break
    }
  }

  private static func mendPNG(_ bytes: UnsafeMutableRawBufferPointer) {
    var offset = 8
    while offset <= bytes.count - 12 {
      let length = Int(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
      guard length <= bytes.count - offset - 12 else { return }
      let sum = CRC32.of(UnsafeRawBufferPointer(rebasing: bytes[offset + 4..<offset + 8 + length]))
      bytes.storeBytes(of: sum.bigEndian, toByteOffset: offset + 8 + length, as: UInt32.self)
      offset += length + 12
    }
  }
}

/// The checksum of PNG's chunks (ISO/IEC 15948, annex D).
private enum CRC32 {
  private static let table: [UInt32] = (0..<256).map { number in
    (0..<8).reduce(UInt32(number)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
  }

  static func of(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    ~bytes.reduce(UInt32.max) { table[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] ^ $0 >> 8 }
  }
}
