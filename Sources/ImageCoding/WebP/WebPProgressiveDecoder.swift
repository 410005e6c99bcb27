import CWebP
import Base

/// Decodes an arriving WebP: a still picture row by row, or the first frame of an animation.
///
/// `@unchecked Sendable`: calls are sequential, as ``ProgressiveDecoder`` requires.
final class WebPProgressiveDecoder: ProgressiveDecoder, @unchecked Sendable {
  private let limits: DecodingLimits
  /// The bytes so far, which libwebp reads without copying.
  private var bytes: [UInt8] = []
  private var header: WebPHeader?
  private var rows: WebPRowDecoder?
  /// The newest image that wasn't returned yet.
  private var unseen: PixelBuffer?
  private var shownRows = 0
  private var shownOrientation = 1
  private var hasShownFrame = false

  init(limits: DecodingLimits) { self.limits = limits }

  func append(_ more: UnsafeRawBufferPointer) throws(ImageError) {
    bytes.append(contentsOf: more)
    // Fewer bytes aren't enough to reject the file.
    guard bytes.count >= 12, try readHeader(), let header else { return }
    try bytes.withRawBytes { file throws(ImageError) in
      if header.isAnimated {
        try readFirstFrame(file, of: header)
      } else {
        if rows == nil { rows = try WebPRowDecoder(size: header.size) }
        try rows?.read(file)
      }
    }
  }

  func image() throws(ImageError) -> DecodedImage? {
    guard let header else { return nil }
    let orientation = header.image.orientation
    if let rows, rows.count > shownRows || rows.count > 0 && orientation != shownOrientation {
      (shownRows, shownOrientation) = (rows.count, orientation)
      let pixels = try limits.spending(header.size.pixels * 8) { () throws(ImageError) in
        rows.pixels.upright(orientation: orientation)
      }
      return DecodedImage(header: header.image, pixels: pixels)
    }
    defer { unseen = nil }
    return unseen.map { DecodedImage(header: header.image, pixels: $0) }
  }

  /// False if the header isn't complete.
  private func readHeader() throws(ImageError) -> Bool {
    do throws(ImageError) {
      let isFirst = header == nil
      let header = try bytes.withRawBytes { file throws(ImageError) in try WebPHeader(file, isComplete: false) }
      try header.check(limits)
      // The decoder's memory isn't reserved in the shared budget, since the transfer may take long; but it must be within the limit
      // for one file.
      if isFirst { try limits.spending(header.workingBytes + header.size.pixels * 8) {} }
      self.header = header
      return true
    } catch {
      guard case .needsMoreBytes = error.kind else { throw error }
      return false
    }
  }

  private func readFirstFrame(_ file: UnsafeRawBufferPointer, of header: WebPHeader) throws(ImageError) {
    guard !hasShownFrame, let container = WebPContainer(partOf: file), let frame = container.firstWholeFrame else { return }
    hasShownFrame = true
    unseen = try limits.spending(header.workingBytes + header.size.pixels * 8) { () throws(ImageError) in
      var canvas = AnimationCanvas(size: header.size)
      try canvas.draw(frame, isFirst: true)
      return canvas.pixels
    }
  }
}

/// libwebp's incremental decoder of one picture, and its rows.
final class WebPRowDecoder {
  /// The number of available rows, from the top.
  private(set) var count = 0

  private let size: ImageSize
  private let decoder: OpaquePointer
  private let memory: UnsafeMutableBufferPointer<UInt8>
  private var isDone = false

  init(size: ImageSize) throws(ImageError) {
    self.size = size
    memory = .allocate(capacity: size.pixels * 4)
    memory.initialize(repeating: 0)
    guard let decoder = WebPINewRGB(MODE_RGBA, memory.baseAddress, memory.count, Int32(size.width * 4)) else {
      memory.deallocate()
      throw ImageError(.outOfMemory, "libwebp: out of memory")
    }
    self.decoder = decoder
  }

  deinit {
    WebPIDelete(decoder)
    memory.deallocate()
  }

  /// Continues decoding a file whose first bytes are `bytes`; libwebp keeps no copy of them, and they may have moved since the last
  /// call.
  func read(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
    guard !isDone else { return }
    let status = WebPIUpdate(decoder, bytes.assumingMemoryBound(to: UInt8.self).baseAddress, bytes.count)
    if status != VP8_STATUS_SUSPENDED { try status.check() }
    isDone = status == VP8_STATUS_OK
    var last: Int32 = 0
    if WebPIDecGetRGB(decoder, &last, nil, nil, nil) != nil { count = Int(last) }
  }

  /// The picture, transparent below the available rows.
  var pixels: PixelBuffer { PixelBuffer(size: size, bytes: Array(memory)) }
}
