import CZlib
import Foundation
import ImageCoding
import Base
import TestSupport
import Testing

/// A file of `images/svg` and the size that rsvg-convert draws.
struct SVGImage: CustomTestStringConvertible, Sendable {
  let name: String
  let size: ImageSize

  var bytes: [UInt8] { Fixtures.bytes("images/svg/\(name)") }
  var testDescription: String { name }

  /// All of them, in alphabetical order.
  static let all: [SVGImage] = {
    struct Reference: Decodable {
      let width, height: Int
    }
    let json = Data(Fixtures.bytes("images/svg/reference.json"))
    guard let references = try? JSONDecoder().decode([String: Reference].self, from: json) else { fatalError("reference.json") }
    return references.sorted { $0.key < $1.key }.map { name, reference in
      SVGImage(name: name, size: ImageSize(width: reference.width, height: reference.height))
    }
  }()

  static func named(_ name: String) -> SVGImage { all.first { $0.name == name }! }
}

/// Calls the coder with bytes or text.
enum SVG {
  static func header(_ bytes: [UInt8], prefix length: Int? = nil) throws -> ImageHeader {
    try bytes.withUnsafeBytes { bytes in
      let prefix = UnsafeRawBufferPointer(rebasing: bytes.prefix(length ?? bytes.count))
      return try SVGCoder().header(of: prefix, isComplete: length == nil)
    }
  }

  static func prove(_ bytes: [UInt8], limits: DecodingLimits = DecodingLimits()) throws -> ImageProof {
    try bytes.withUnsafeBytes { try SVGCoder().proveDecodable($0, limits: limits) }
  }

  static func prove(_ text: String, limits: DecodingLimits = DecodingLimits()) throws -> ImageProof {
    try prove(Array(text.utf8), limits: limits)
  }

  static func decode(_ bytes: [UInt8], limits: DecodingLimits = DecodingLimits()) throws -> DecodedImage {
    try bytes.withUnsafeBytes { try SVGCoder().decode($0, options: DecodingOptions(), limits: limits) }
  }

  /// A document with that content, attributes of the root element, and declarations in its document type.
  static func document(_ content: String = "", attributes: String = "", declaring declarations: String? = nil) -> String {
    let type = declarations.map { "<!DOCTYPE svg [\n\($0)\n]>\n" } ?? ""
    let namespaces = "xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\""
    return "\(type)<svg \(namespaces) \(attributes)>\n\(content)\n</svg>\n"
  }
}

extension [UInt8] {
  /// The bytes as a gzip file.
  var gzipped: [UInt8] {
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    defer { stream.deallocate() }
    stream.initialize(to: z_stream())
    let size = Int32(MemoryLayout<z_stream>.size)
    let status = deflateInit2_(stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size)
    guard status == Z_OK else { fatalError("deflateInit2: status \(status)") }
    defer { deflateEnd(stream) }
    var input = self
    let room = Int(deflateBound(stream, UInt(count)))
    return input.withUnsafeMutableBufferPointer { input in
      [UInt8](unsafeUninitializedCapacity: room) { output, count in
        stream.pointee.next_in = input.baseAddress
        stream.pointee.avail_in = UInt32(input.count)
        stream.pointee.next_out = output.baseAddress
        stream.pointee.avail_out = UInt32(room)
        guard deflate(stream, Z_FINISH) == Z_STREAM_END else { fatalError("deflate") }
        count = room - Int(stream.pointee.avail_out)
      }
    }
  }
}
