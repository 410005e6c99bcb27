#if RareFormats
import CHEIF
import Base

/// The decoded planes of a picture: red, green, blue, and alpha if it has any.
struct HEICPlanes: ~Copyable {
  let warnings: [String]
  private let isPremultiplied: Bool
  private let size: ImageSize
  private let planes: [Plane]
  private let heif: CHEIFFunctions
  private let image: OpaquePointer

  private struct Plane {
    /// Nil if there is none.
    let start: UnsafePointer<UInt8>?
    let size: ImageSize
    let rowBytes: Int
    let depth: Int
  }

  /// Takes over `image`.
  init(_ image: OpaquePointer, of header: HEICImage, isPremultiplied: Bool, warnings: [String], heif: CHEIFFunctions) {
    (self.heif, self.image, self.isPremultiplied, self.warnings) = (heif, image, isPremultiplied, warnings)
    size = header.placement.size
    let channels = [heif_channel_R, heif_channel_G, heif_channel_B] + (header.alpha == nil ? [] : [heif_channel_Alpha])
    planes = channels.map { channel in
      var rowBytes: Int32 = 0
      let start = heif.hasChannel(image, channel) != 0 ? heif.channelPlane(image, channel, &rowBytes) : nil
      return Plane(
        start: start,
        size: ImageSize(width: Int(heif.channelWidth(image, channel)), height: Int(heif.channelHeight(image, channel))),
        rowBytes: Int(rowBytes),
        depth: Int(heif.channelDepth(image, channel))
      )
    }
  }

  deinit { heif.imageRelease(image) }

  /// Throws if the planes don't have the size and alpha of the header.
  func check() throws(ImageError) {
    for plane in planes {
      guard plane.start != nil else { throw .undecodable("libheif: a plane of the picture is missing") }
      guard plane.size != size else { continue }
      let decoded = "\(plane.size.width) x \(plane.size.height)"
      throw .undecodable("the HEIC container says \(size.width) x \(size.height) pixels, its picture \(decoded)")
    }
  }

  /// RGBA, not premultiplied, of the highest 8 bits of each sample.
  func pixels() -> PixelBuffer {
    let width = size.width
    return PixelBuffer(size: size) { y, row in
      for (channel, plane) in planes.enumerated() {
        guard let start = plane.start.map({ $0 + y * plane.rowBytes }) else { continue }
        if plane.depth <= 8 {
          for x in 0..<width { row[x * 4 + channel] = start[x] }
        } else {
          let shift = UInt16(plane.depth - 8)
          start.withMemoryRebound(to: UInt16.self, capacity: width) { start in
            for x in 0..<width { row[x * 4 + channel] = UInt8(truncatingIfNeeded: start[x] >> shift) }
          }
        }
      }
      if planes.count < 4 {
        for x in 0..<width { row[x * 4 + 3] = 255 }
      } else if isPremultiplied {
        for x in 0..<width { Self.divide(row, at: x * 4) }
      }
    }
  }

  private static func divide(_ row: UnsafeMutableBufferPointer<UInt8>, at offset: Int) {
    let alpha = Int(row[offset + 3])
    for channel in offset..<offset + 3 {
      row[channel] = alpha == 0 ? 0 : UInt8(min(255, (Int(row[channel]) * 255 + alpha / 2) / alpha))
    }
  }
}
#endif
