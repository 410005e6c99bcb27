import Base

/// A library's decoder of a file that is arriving, whose header has arrived.
protocol ArrivingDecoder: AnyObject {
  /// A decoder of a file that starts with `bytes`, which ``append(_:_:)`` will be given next. Throws
  /// ``ImageError/Kind/needsMoreBytes(minimum:)`` if they don't have all of its header.
  init(_ bytes: UnsafeRawBufferPointer, _ limits: DecodingLimits) throws(ImageError)

  func append(_ bytes: UnsafeRawBufferPointer, _ deadline: DecodingDeadline) throws(ImageError)

  /// The picture in the stored orientation with the header and warnings; nil if nothing was drawn since the last call.
  func image(_ deadline: DecodingDeadline) throws(ImageError) -> DecodedImage?
}

/// Decodes an arriving file: keeps its first bytes until the header can be read, and then passes all on.
///
/// `@unchecked Sendable`: calls are sequential, as ``ProgressiveDecoder`` requires.
final class ArrivingImage<Decoder: ArrivingDecoder>: ProgressiveDecoder, @unchecked Sendable {
  private let limits: DecodingLimits
  private var decoder: Decoder?
  private var time: SpentTime
  private var bytes: [UInt8] = []
  /// The number of bytes that the next attempt needs: fewer than 12 may not reveal the format.
  private var bytesForNextTry = 12
  private var tries = 0

  /// That many attempts with few bytes are cheap, so a small file's header is read as soon as possible.
  private static var freeTries: Int { 64 }
  private static var freeBytes: Int { 64 << 10 }

  init(_ limits: DecodingLimits) {
    self.limits = limits
    time = SpentTime(limits)
  }

  func append(_ more: UnsafeRawBufferPointer) throws(ImageError) {
    if let decoder { return try time.spend { deadline throws(ImageError) in try decoder.append(more, deadline) } }
    bytes += more
    guard bytes.count >= bytesForNextTry, let decoder = try begin() else { return }
    self.decoder = decoder
    try bytes.withRawBytes { bytes throws(ImageError) in
      try time.spend { deadline throws(ImageError) in try decoder.append(bytes, deadline) }
    }
    bytes = []
  }

  /// The decoder; nil if more bytes are needed.
  private func begin() throws(ImageError) -> Decoder? {
    tries += 1
    do throws(ImageError) {
      return try bytes.withRawBytes { bytes throws(ImageError) in try Decoder(bytes, limits) }
    } catch {
      guard case .needsMoreBytes(let minimum) = error.kind else { throw error }
      // Later attempts wait for an eighth more, so that all of them together cost at most nine times the whole.
      let isFree = tries < Self.freeTries && bytes.count < Self.freeBytes
      bytesForNextTry = max(minimum, bytes.count + (isFree ? 1 : bytes.count / 8))
      return nil
    }
  }

  func image() throws(ImageError) -> DecodedImage? {
    guard let decoder else { return nil }
    var image = try time.spend { deadline throws(ImageError) in try decoder.image(deadline) }
    if let picture = image { image?.pixels = picture.pixels.upright(orientation: picture.header.orientation) }
    return image
  }
}
