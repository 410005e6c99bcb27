import CJPEG
import Glibc
public import ImagePrimitives

extension JPEGCoder {
  /// Whether `format` is this one.
  public func canEncode(_ format: ImageFormat) -> Bool { format == .jpeg }

  /// Writes a baseline file of an image's first frame, laid on white: 4:2:0 below a quality of 90, 4:4:4 from there on.
  ///
  /// Where it takes more bytes than ``EncodingOptions/maximumBytes``, it gets the highest quality that fits.
  public func encode(_ image: DecodedImage, as format: ImageFormat, options: EncodingOptions) throws(ImageError) -> [UInt8] {
    guard canEncode(format) else { throw ImageError(.unencodable, "\(format.name) images are not written by \(Self.self)") }
    let pixels = image.pixels.fitting(options)
    if let bytes = try encoded(pixels, quality: options.quality, options) { return bytes }
    var best: [UInt8]?
    var (lowest, highest) = (1, options.quality - 1)
    while lowest <= highest {
      let quality = (lowest + highest) / 2
      if let bytes = try encoded(pixels, quality: quality, options) {
        best = bytes
        lowest = quality + 1
      } else {
        highest = quality - 1
      }
    }
    guard let best else { throw options.tooLarge("as JPEG of the lowest quality") }
    return best
  }

  /// From this quality on colour is kept in full.
  private static let fullColorQuality = 90

  /// The file; nil where it is too large.
  private func encoded(_ pixels: PixelBuffer, quality: Int, _ options: EncodingOptions) throws(ImageError) -> [UInt8]? {
    let encoding = CJPEGEncoding(
      width: UInt32(pixels.size.width),
      height: UInt32(pixels.size.height),
      quality: Int32(quality),
      subsamples: quality < Self.fullColorQuality ? 1 : 0,
      maximum_bytes: options.maximumBytes.map { max(0, $0) } ?? .max
    )
    var start: UnsafeMutablePointer<UInt8>?
    var count = 0
    var report = CJPEGReport()
    let status = pixels.bytes.withUnsafeBufferPointer { cjpeg_encode($0.baseAddress, encoding, &start, &count, &report) }
    defer { free(start) }
    switch status {
    case CJPEG_OK: return Array(UnsafeBufferPointer(start: start, count: count))
    case CJPEG_TOO_LARGE: return nil
    case CJPEG_OUT_OF_MEMORY: throw ImageError(.outOfMemory, "libjpeg: \(LibraryText(report.message))")
    default: throw ImageError(.unencodable, "libjpeg: \(LibraryText(report.message))")
    }
  }
}
