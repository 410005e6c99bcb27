import Foundation
import ImageCoding
import Base
import TestSupport
import Testing

/// A file of `images/good` and the pixels that Pillow decodes.
struct FixtureImage: CustomTestStringConvertible, Sendable {
  let name: String
  let size: ImageSize
  /// Rows of x, y, red, green, blue, alpha.
  let samples: [[Int]]

  var bytes: [UInt8] { Fixtures.bytes("images/good/\(name)") }
  var testDescription: String { name }
  /// The warnings about a file that browsers don't show.
  var warnings: [String] {
    name == "arithmetic.jpg" ? ["the JPEG is arithmetic-coded (SOF9), so browsers don't show it"] : []
  }

  /// All decodable files in alphabetical order.
  static let all: [FixtureImage] = {
    struct Reference: Decodable {
      let width, height: Int
      let samples: [[Int]]
    }
    let json = Data(Fixtures.bytes("images/reference.json"))
    guard let references = try? JSONDecoder().decode([String: Reference].self, from: json) else { fatalError("reference.json") }
    return references.sorted { $0.key < $1.key }.map { name, reference in
      FixtureImage(name: name, size: ImageSize(width: reference.width, height: reference.height), samples: reference.samples)
    }
  }()

  static func named(_ name: String) -> FixtureImage { all.first { $0.name == name }! }
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

/// The error that `body` throws; nil if it succeeds.
func imageError(_ body: () throws -> some Any) -> ImageError? {
  do {
    _ = try body()
    return nil
  } catch {
    return error as? ImageError
  }
}
