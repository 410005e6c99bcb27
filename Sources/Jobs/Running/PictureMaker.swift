import ImageCoding
import ImageManaging
import Base
import Reports

/// Makes small pictures of images with the coders that verified them.
///
/// An SVG is its own picture, since there is no coder for its pixels. As an image of a page it runs no scripts and loads nothing (SVG 2,
/// section 2.7, "secure animated mode").
struct PictureMaker: Sendable {
  static let box = ImageSize(width: 160, height: 120)
  static let maximumBytes = 6 << 10
  static let format = ImageFormat.webp
  /// The limit of incomplete images in pixels, since they are decoded in full size.
  private static let partialPixels = 16_000_000
  private static let quality = 75

  let coders: ImageCoderRegistry
  private let limits: DecodingLimits

  /// Makes pictures of images of at most `maximumPixels`, within the memory of `budget`.
  init(coders: ImageCoderRegistry, maximumPixels: Int, budget: DecodingBudget) {
    self.coders = coders
    limits = DecodingLimits(
      maximumPixels: min(maximumPixels, DecodingLimits().maximumPixels),
      maximumTime: .seconds(2),
      budget: budget
    )
  }

  /// Returns a picture of `image` with its properties; the picture is empty if the bytes can't be decoded. Nil if the image is good, but
  /// too few of its bytes are available to show it.
  func thumbnail(of image: ArrivedImage, _ reason: Thumbnail.Reason, identity: Checksum?) -> Thumbnail? {
    let seen = image.withBytes { look(at: $0, isWhole: image.isWhole) }
    var file: File? = seen?.image.flatMap { self.file($0) }
    if seen?.format == .svg, image.isWhole { file = image.withBytes { svg($0) } ?? nil }
    if file == nil, image.failure == nil, !image.isWhole { return nil }
    var thumbnail = Thumbnail(
      reason,
      url: image.url,
      picture: file?.bytes ?? [],
      pictureFormat: file?.format ?? Self.format,
      pictureWidth: UInt32(clamping: file?.size.width ?? 0),
      pictureHeight: UInt32(clamping: file?.size.height ?? 0),
      bytes: UInt64(clamping: image.byteCount)
    )
    thumbnail.format = image.format ?? seen?.format
    let size = image.size.width > 0 ? image.size : seen?.image?.header.size
    thumbnail.width = UInt32(clamping: size?.width ?? 0)
    thumbnail.height = UInt32(clamping: size?.height ?? 0)
    thumbnail.failure = image.failure
    thumbnail.checksum = identity
    return thumbnail
  }

  /// Decodes the whole image, or the part before an error or the end of the bytes.
  private func look(at bytes: UnsafeRawBufferPointer, isWhole: Bool) -> (format: ImageFormat?, image: DecodedImage?) {
    guard let format = ImageFormat(prefix: bytes), let coder = coders.coder(for: format) else { return (nil, nil) }
    do throws(ImageError) {
      if isWhole {
        let options = DecodingOptions(thumbnail: Self.box, firstFrameOnly: true)
        return (format, try coder.decode(bytes, options: options, limits: limits))
      }
    } catch {
      // The entry's row has the reason if the job decodes images.
    }
    var limits = limits
    limits.maximumPixels = min(limits.maximumPixels, Self.partialPixels)
    return (format, (try? coders.picture(ofPart: bytes, format, limits: limits)) ?? nil)
  }

  private struct File {
    var bytes: [UInt8]
    var format = PictureMaker.format
    var size: ImageSize
  }

  /// Returns a small SVG as it is, or inflated, since browsers show no compressed one in a data URL; nil for a broken one.
  private func svg(_ bytes: UnsafeRawBufferPointer) -> File? {
    guard bytes.count <= Self.maximumBytes, let coder = coders.coder(for: .svg) else { return nil }
    guard let text = SVGCoder.text(bytes, maximumBytes: Self.maximumBytes) else { return nil }
    guard let header = (try? coder.proveDecodable(bytes, limits: limits))?.header else { return nil }
    return File(bytes: text, format: .svg, size: DecodingOptions(thumbnail: Self.box).decodedSize(of: header.size))
  }

  /// Encodes the picture; nil if it takes too many bytes even at half its size.
  private func file(_ image: DecodedImage) -> File? {
    for box in [Self.box, ImageSize(width: Self.box.width / 2, height: Self.box.height / 2)] {
      let options = EncodingOptions(
        quality: Self.quality,
        maximumBytes: Self.maximumBytes,
        maximumSize: box,
        firstFrameOnly: true
      )
      do throws(ImageError) {
        let bytes = try coders.encode(image, as: Self.format, options: options)
        return File(bytes: bytes, size: DecodingOptions(thumbnail: box).decodedSize(of: image.pixels.size))
      } catch {
        continue
      }
    }
    return nil
  }
}
