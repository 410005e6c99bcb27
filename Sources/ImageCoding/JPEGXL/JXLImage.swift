#if RareFormats
import Base

/// The structure of a complete codestream: its metadata and frames, read without decoding pixels.
struct JXLImage {
  let metadata: JXLMetadata
  /// All frames, including those that aren't displayed; a preview is the first.
  private(set) var frames: [JXLFrame] = []
  /// The memory for decoding the profile.
  private(set) var profileBytes = 0

  /// Reads the codestream up to its last frame; throws if it ends earlier.
  init(_ codestream: UnsafeRawBufferPointer) throws(JXLError) {
    let bytes = ByteView(codestream)
    var bits = JXLBits(bytes)
    metadata = try JXLMetadata(&bits)
    if metadata.hasProfile { profileBytes = try JXLEntropyDecoder.skipProfile(&bits) }
    var offset = try bits.alignToByte()
    var isPreview = metadata.previewSize != nil
    while true {
      let frame = try JXLFrame(bytes, at: offset, of: metadata, isPreview: isPreview)
      offset = frame.sections.upperBound
      guard offset <= bytes.count else { throw .endsEarly(needed: offset) }
      frames.append(frame)
      if frame.isLast, !isPreview { return }
      isPreview = false
    }
  }

  /// The number of pictures that are displayed one after another.
  var displayedFrames: Int {
    max(1, frames.dropFirst(metadata.previewSize == nil ? 0 : 1).count { $0.isDisplayed })
  }
}

extension ImageHeader {
  init(_ metadata: JXLMetadata, frames: Int, isAnimated: Bool, exif: EXIF) {
    let hasBlack = metadata.extraChannels.contains(.black)
    self.init(
      format: .jpegXL,
      size: metadata.size,
      frames: frames,
      isAnimated: isAnimated,
      hasAlpha: metadata.extraChannels.contains(.alpha),
      orientation: metadata.orientation,
      colorSpace: metadata.isGray ? .gray : hasBlack ? .cmyk : .rgb,
      profile: metadata.hasProfile ? ICCProfile(name: nil) : nil,
      hasPosition: exif.hasPosition,
      dpi: exif.dpi
    )
  }
}
#endif
