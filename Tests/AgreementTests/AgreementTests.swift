import Foundation
import ImageCoding
import Base
import Testing

/// The part of `scripts/agreement` that runs the coders: for each file in a folder, the verdict, the size, and the difference of
/// its pixels from those in the file next to it.
@Suite("agreement with another decoder", .enabled(if: Agreement.folder != nil, "run by scripts/agreement"))
struct AgreementTests {
  @Test func `the coders' verdict on each file is written to a report`() throws {
    let folder = try #require(Agreement.folder)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    let encoder = JSONEncoder()
    var lines = Data()
    for name in names where Agreement.extensions.contains((name as NSString).pathExtension) {
      lines += try encoder.encode(Agreement.judge(folder.appendingPathComponent(name))) + Data("\n".utf8)
    }
    try lines.write(to: folder.appendingPathComponent("ours.jsonl"))
  }
}

private enum Agreement {
  static let folder = ProcessInfo.processInfo.environment["PREWARM_AGREEMENT"].map { URL(fileURLWithPath: $0) }
  static let extensions: Set<String> = [
    "jpg",
    "png",
    "webp",
    "gif",
    "avif",
    "bmp",
    "ico",
    "cur",
    "svg",
    "tif",
    "heic",
    "jxl",
  ]

  struct Row: Encodable {
    let name: String
    /// The error of its first frame.
    var refused: String?
    /// The error of another frame.
    var later: String?
    /// The warning for a good file.
    var warning: String?
    /// As stored and as displayed.
    var size: [Int]?
    var shown: [Int]?
    /// The largest difference of a channel, and the number of pixels with one above 2.
    var difference: Int?
    var different: Int?
  }

  static func judge(_ file: URL) throws -> Row {
    let bytes = try Data(contentsOf: file)
    var row = Row(name: file.lastPathComponent)
    do {
      let image = try bytes.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) -> DecodedImage? in
        guard let format = ImageFormat(prefix: bytes), let coder = ImageCoderRegistry.standard.coder(for: format) else {
          throw ImageError(.notAnImage, "no decodable format")
        }
        guard coder.decodesPixels else {
          let proof = try coder.proveDecodable(bytes, limits: DecodingLimits())
          row.warning = proof.warnings.first
          row.size = [proof.header.size.width, proof.header.size.height]
          row.shown = row.size
          return nil
        }
        do throws(ImageError) {
          _ = try coder.proveDecodable(bytes, limits: DecodingLimits())
        } catch {
          row.later = error.message
        }
        return try coder.decode(bytes, options: DecodingOptions(firstFrameOnly: true), limits: DecodingLimits())
      }
      guard let image else { return row }
      row.warning = image.warnings.first
      row.size = [image.header.size.width, image.header.size.height]
      row.shown = [image.pixels.size.width, image.pixels.size.height]
      let reference = file.appendingPathExtension("rgba")
      if FileManager.default.fileExists(atPath: reference.path) {
        (row.difference, row.different) = compare(image.pixels.bytes, [UInt8](try Data(contentsOf: reference)))
      }
    } catch let error as ImageError {
      row.refused = error.message
    }
    return row
  }

  /// Pixels that are transparent in both may have any colours.
  private static func compare(_ ours: [UInt8], _ theirs: [UInt8]) -> (difference: Int, different: Int) {
    guard ours.count == theirs.count else { return (255, ours.count / 4) }
    var (largest, count) = (0, 0)
    for start in stride(from: 0, to: ours.count, by: 4) where ours[start + 3] != 0 || theirs[start + 3] != 0 {
      let difference = (start..<start + 4).map { abs(Int(ours[$0]) - Int(theirs[$0])) }.max() ?? 0
      largest = max(largest, difference)
      if difference > 2 { count += 1 }
    }
    return (largest, count)
  }
}
