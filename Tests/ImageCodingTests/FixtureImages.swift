import Foundation
import ImageCoding
import Base
import TestSupport
import Testing

/// A good file and the pixels that another decoder, mostly Pillow, gives.
struct FixtureImage: CustomTestStringConvertible, Sendable {
  /// In `images`.
  let folder: String
  let name: String
  /// The displayed size.
  let size: ImageSize
  /// Rows of x, y, red, green, blue, alpha.
  let samples: [[Int]]

  var bytes: [UInt8] { Fixtures.bytes("images/\(folder)/\(name)") }
  var testDescription: String { name }
  /// The warnings about a file that browsers don't show.
  var warnings: [String] {
    name == "arithmetic.jpg" ? ["the JPEG is arithmetic-coded (SOF9), so browsers don't show it"] : []
  }

  /// JPEG, PNG and WebP in alphabetical order.
  static let all = images(in: "good", "images/reference.json")
  static let ofEveryFormat = all + folders.flatMap { images(in: $0, "images/\($0)/reference.json") }

  private static let folders = ["bmp", "ico", "avif", "tiff", "heic", "jxl"]

  private static func images(in folder: String, _ path: String) -> [FixtureImage] {
    struct Reference: Decodable {
      let width, height: Int
      let samples: [[Int]]
    }
    guard let references = try? JSONDecoder().decode([String: Reference].self, from: Data(Fixtures.bytes(path))) else {
      fatalError(path)
    }
    return references.sorted { $0.key < $1.key }.map { name, reference in
      let size = ImageSize(width: reference.width, height: reference.height)
      return FixtureImage(folder: folder, name: name, size: size, samples: reference.samples)
    }
  }

  static func named(_ name: String) -> FixtureImage { ofEveryFormat.first { $0.name == name }! }
}

/// Calls the standard coders with complete files.
enum Standard {
  static func coder(for bytes: [UInt8]) throws -> any ImageCoder {
    guard let format = ImageFormat(of: bytes),
      let coder = ImageCoderRegistry.standard.coder(for: format)
    else { throw ImageError(.notAnImage, "no coder decodes it") }
    return coder
  }

  static func header(_ bytes: [UInt8], prefix length: Int? = nil) throws -> ImageHeader {
    // The first bytes alone may not tell the format.
    let coder = try coder(for: bytes)
    return try bytes.prefix(length ?? bytes.count).withUnsafeBytes { try coder.header(of: $0, isComplete: length == nil) }
  }

  static func decode(
    _ bytes: [UInt8],
    options: DecodingOptions = DecodingOptions(),
    limits: DecodingLimits = DecodingLimits()
  ) throws -> DecodedImage {
    try ImageCoderRegistry.standard.decode(bytes, options: options, limits: limits)
  }

  static func prove(_ bytes: [UInt8], limits: DecodingLimits = DecodingLimits()) throws -> ImageProof {
    try ImageCoderRegistry.standard.proveDecodable(bytes, limits: limits)
  }
}

extension PixelBuffer {
  /// Red, green, blue and alpha of a pixel.
  func pixel(_ x: Int, _ y: Int) -> [UInt8] {
    let offset = (y * size.width + x) * 4
    return Array(bytes[offset..<offset + 4])
  }

  /// The pixel in a corner such as `top left`.
  func pixel(_ corner: String) -> [UInt8] {
    pixel(corner.hasSuffix("left") ? 0 : size.width - 1, corner.hasPrefix("top") ? 0 : size.height - 1)
  }
}

/// The error of decoding with the standard coders, which must equal that of verifying.
func rejection(_ bytes: [UInt8], _ limits: DecodingLimits = DecodingLimits()) -> ImageError? {
  let error = imageError { try Standard.decode(bytes, limits: limits) }
  #expect(imageError { try Standard.prove(bytes, limits: limits) } == error)
  return error
}

/// The error that `body` throws; nil if it succeeds.
func imageError(_ body: () throws -> some Any) -> ImageError? {
  do {
    _ = try body()
    return nil
  } catch {
    return error as? ImageError
  }
}
