import CPNG
import Glibc
public import ImagePrimitives

extension PNGCoder {
  /// Whether `format` is this one.
  public func canEncode(_ format: ImageFormat) -> Bool { format == .png }

  /// Writes an image's first frame without loss: grey or RGB, with alpha or not, whatever is the least that holds its pixels.
  ///
  /// There is no quality to lower, so that what is larger than ``EncodingOptions/maximumBytes`` throws
  /// ``ImageError/Kind/unencodable``.
  public func encode(_ image: DecodedImage, as format: ImageFormat, options: EncodingOptions) throws(ImageError) -> [UInt8] {
    guard canEncode(format) else { throw ImageError(.unencodable, "\(format.name) images are not written by \(Self.self)") }
    let pixels = image.pixels.fitting(options)
    var start: UnsafeMutablePointer<UInt8>?
    var count = 0
    var report = CPNGReport()
    let status = pixels.bytes.withUnsafeBufferPointer {
      cpng_encode(
        $0.baseAddress,
        UInt32(pixels.size.width),
        UInt32(pixels.size.height),
        options.maximumBytes.map { max(0, $0) } ?? .max,
        &start,
        &count,
        &report
      )
    }
    defer { free(start) }
    switch status {
    case CPNG_OK: return Array(UnsafeBufferPointer(start: start, count: count))
    case CPNG_TOO_LARGE: throw options.tooLarge("as PNG, which has no quality to lower")
    case CPNG_OUT_OF_MEMORY: throw ImageError(.outOfMemory, "libpng: \(LibraryText(report.message))")
    default: throw ImageError(.unencodable, "libpng: \(LibraryText(report.message))")
    }
  }
}
