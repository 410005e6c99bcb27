import Foundation

/// Small valid images in any number, each with different bytes.
///
/// Each is a base image with its number in a comment, so that creating one is hardly more work than writing it.
public enum SampleImages {
  /// A valid JPEG of 32 × 24 pixels and 340 bytes.
  public static let baseJPEG: [UInt8] = decoded(
    """
    /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8ybqmx5mo\
    q6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKT/wAARCAAYACADASIAAhEB\
    AxEB/8QAGAABAQEBAQAAAAAAAAAAAAAAAwAEAgX/xAAWEAEBAQAAAAAAAAAAAAAAAAAAAgP/xAAYAQACAwAAAAAAAAAAAAAAAAADBQIEBv/EABcRAAMB\
    AAAAAAAAAAAAAAAAAAACAwH/2gAMAwEAAhEDEQA/APGnI05NE5GnJYahCVTNORpyaJyNOQLUGUqnE5FnJIFm0zkm0acjTkkAzaM5Np//2Q==
    """
  )

  /// A valid JPEG, different for each number: the base with comment segments (COM) after its first marker.
  ///
  /// - Parameter padding: The number of additional zeros in comments, to reach a certain size.
  public static func jpeg(_ number: Int, padding: Int = 0, base: [UInt8] = baseJPEG) -> [UInt8] {
    var bytes = Array(base[..<2])
    bytes.reserveCapacity(base.count + padding + 64)
    appendComment(Array("image \(number)".utf8), to: &bytes)
    var left = padding
    while left > 0 {
      // The two bytes of a segment's length count themselves (ITU-T T.81, B.1.1.4).
      let count = min(left, 65_533)
      appendComment([UInt8](repeating: 0, count: count), to: &bytes)
      left -= count
    }
    return bytes + base[2...]
  }

  /// A valid PNG, different for each number: the base with a tEXt chunk after its header; by default 32 × 24 black pixels.
  public static func png(_ number: Int, base: [UInt8] = basePNG) -> [UInt8] {
    // The signature and IHDR always have 33 bytes (PNG specification, 5.2 and 11.2.1).
    Array(base[..<33]) + pngChunk("tEXt", "Comment\0image \(number)".utf8) + base[33...]
  }

  /// A valid PNG of 32 × 24 black pixels.
  public static let basePNG: [UInt8] = makePNG(width: 32, height: 24)

  /// A PNG whose header declares that size, but which has a single pixel.
  public static func lyingPNG(width: UInt32, height: UInt32) -> [UInt8] {
    let honest = makePNG(width: 1, height: 1)
    return Array(honest[..<8]) + pngChunk("IHDR", bigEndian(width) + bigEndian(height) + [8, 0, 0, 0, 0]) + honest[33...]
  }

  /// A valid greyscale PNG of that size, all black, in one stored block, which limits pixels and row starts to 65,535 bytes.
  public static func makePNG(width: Int, height: Int) -> [UInt8] {
    let pixels = [UInt8](repeating: 0, count: (width + 1) * height)
    precondition(pixels.count <= 65_535, "one stored block holds no more")
    var header = bigEndian(UInt32(width)) + bigEndian(UInt32(height))
    header += [8, 0, 0, 0, 0]
    let count = UInt16(pixels.count)
    var stored: [UInt8] = [0x78, 0x01, 0x01, UInt8(count & 0xff), UInt8(count >> 8), UInt8(~count & 0xff), UInt8(~count >> 8)]
    // The Adler-32 of n zeros is n mod 65521 in the high half and 1 in the low half (RFC 1950, section 8.2).
    stored += pixels + bigEndian(UInt32(pixels.count % 65_521) << 16 | 1)
    return [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
      + pngChunk("IHDR", header) + pngChunk("IDAT", stored) + pngChunk("IEND", [UInt8]())
  }

  private static func appendComment(_ text: [UInt8], to bytes: inout [UInt8]) {
    let length = text.count + 2
    bytes += [0xff, 0xfe, UInt8(length >> 8), UInt8(length & 0xff)]
    bytes += text
  }

  private static func pngChunk(_ type: String, _ data: some Collection<UInt8>) -> [UInt8] {
    let body = Array(type.utf8) + data
    return bigEndian(UInt32(data.count)) + body + bigEndian(CRC32.of(body))
  }

  private static func bigEndian(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian, Array.init) }

  private static func decoded(_ base64: String) -> [UInt8] {
    guard let data = Data(base64Encoded: base64) else { fatalError("the base image isn't valid Base64") }
    return Array(data)
  }
}

extension SampleImages {
  /// Writes JPEGs with the numbers 0…`count`-1 below `folder`, a thousand per subfolder.
  ///
  /// - Parameter padding: As in ``jpeg(_:padding:base:)``.
  /// - Returns: Their paths relative to `folder`, in order, such as `003/003141.jpg`.
  @discardableResult
  public static func writeTree(_ count: Int, in folder: TemporaryDirectory, padding: Int = 0) -> [String] {
    (0..<count).map { number in
      let path = "\(padded(number / 1000, 3))/\(padded(number, 6)).jpg"
      folder.write(jpeg(number, padding: padding), to: path)
      return path
    }
  }

  /// The text of a manifest with one URL per line, each a path below `base`, such as `http://127.0.0.1:8080`.
  public static func manifest(of paths: some Sequence<String>, base: String) -> String {
    paths.map { "\(base)/\($0)\n" }.joined()
  }

  private static func padded(_ number: Int, _ digits: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, digits - text.count)) + text
  }
}

/// The checksum at the end of each PNG chunk (RFC 2083, section 15).
enum CRC32 {
  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xedb8_8320 ^ (value >> 1) : value >> 1 }
  }

  static func of(_ bytes: some Sequence<UInt8>) -> UInt32 {
    ~bytes.reduce(~0) { sum, byte in table[Int((sum ^ UInt32(byte)) & 0xff)] ^ (sum >> 8) }
  }
}
