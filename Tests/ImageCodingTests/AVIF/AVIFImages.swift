#if AVIF
import Foundation
import ImageCoding
import Base
import TestSupport
import Testing

/// A file of `images/avif` and the pixels that Pillow decodes.
struct AVIFImage: CustomTestStringConvertible, Sendable {
  let name: String
  /// The displayed size.
  let size: ImageSize
  /// Rows of x, y, red, green, blue, alpha.
  let samples: [[Int]]

  var bytes: [UInt8] { Fixtures.bytes("images/avif/\(name)") }
  var testDescription: String { name }

  /// All of them, in alphabetical order.
  static let all: [AVIFImage] = {
    struct Reference: Decodable {
      let width, height: Int
      let samples: [[Int]]
    }
    let json = Data(Fixtures.bytes("images/avif/reference.json"))
    guard let references = try? JSONDecoder().decode([String: Reference].self, from: json) else { fatalError("reference.json") }
    return references.sorted { $0.key < $1.key }.map { name, reference in
      AVIFImage(name: name, size: ImageSize(width: reference.width, height: reference.height), samples: reference.samples)
    }
  }()

  static func named(_ name: String) -> AVIFImage { all.first { $0.name == name }! }
}

/// Calls the coder with bytes.
enum AVIF {
  static func header(_ bytes: [UInt8], prefix length: Int? = nil) throws -> ImageHeader {
    try bytes.withUnsafeBytes { bytes in
      let prefix = UnsafeRawBufferPointer(rebasing: bytes.prefix(length ?? bytes.count))
      return try AVIFCoder().header(of: prefix, isComplete: length == nil)
    }
  }

  static func decode(
    _ bytes: [UInt8],
    options: DecodingOptions = DecodingOptions(),
    limits: DecodingLimits = DecodingLimits()
  ) throws -> DecodedImage {
    try bytes.withUnsafeBytes { try AVIFCoder().decode($0, options: options, limits: limits) }
  }

  static func prove(_ bytes: [UInt8], limits: DecodingLimits = DecodingLimits()) throws -> ImageProof {
    try bytes.withUnsafeBytes { try AVIFCoder().proveDecodable($0, limits: limits) }
  }
}
#endif
