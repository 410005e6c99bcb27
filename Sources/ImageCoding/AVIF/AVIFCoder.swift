#if AVIF
  public import ImagePrimitives

  /// AVIF by libavif: still images, grids and sequences, 8 to 12 bits a sample, with or without alpha.
  ///
  /// What is read, and how strictly, is what Pillow's plug-in asks of libavif too: `clap` and `pixi` boxes may be wrong or absent, and a clean
  /// aperture (`clap`) crops nothing; rotation (`irot`) and mirroring (`imir`) are applied. libavif knows no warnings; before its version 1.0 it lets
  /// dav1d write what that finds odd to standard error.
  ///
  /// A frame is decoded in one call that cannot be interrupted, so that ``DecodingLimits/maximumTime`` is looked at between frames.
  public struct AVIFCoder: ImageCoder {
    /// A coder; all are alike.
    public init() {}

    /// Whether `format` is this one.
    public func canDecode(_ format: ImageFormat) -> Bool { format == .avif }

    /// Reads the boxes `ftyp`, `meta` and, of a sequence, `moov`, wherever they stand, and where colours are told there only, the first bytes of
    /// the picture.
    public func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
      try AVIFDecoder.opening(prefix, isComplete: isComplete).header
    }

    /// Decodes to upright RGBA, not premultiplied.
    public func decode(
      _ bytes: UnsafeRawBufferPointer,
      options: DecodingOptions,
      limits: DecodingLimits
    ) throws(ImageError) -> DecodedImage {
      let deadline = DecodingDeadline(limits)
      let decoder = try AVIFDecoder.opening(bytes, within: limits)
      let header = decoder.header
      let frames = options.firstFrameOnly ? 1 : header.frames
      let size = options.decodedSize(of: header.displaySize)
      let memory = decoder.memory.bytes + AVIFMemory.bytes(of: header, frames: frames, decodedTo: size)
      return try limits.spending(memory) { () throws(ImageError) in
        let first = try decoder.nextPixels(size)
        guard frames > 1 else { return DecodedImage(header: header, pixels: first) }
        var kept = [Animation.Frame(pixels: first, duration: decoder.frameDuration)]
        while kept.count < frames {
          try deadline.check()
          kept.append(Animation.Frame(pixels: try decoder.nextPixels(size), duration: decoder.frameDuration))
        }
        return DecodedImage(header: header, pixels: first, animation: Animation(frames: kept, loopCount: decoder.loopCount))
      }
    }

    /// Decodes every frame, and makes no pixels of them.
    public func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> Proof {
      let deadline = DecodingDeadline(limits)
      let decoder = try AVIFDecoder.opening(bytes, within: limits)
      let header = decoder.header
      try limits.spending(decoder.memory.bytes) { () throws(ImageError) in
        for _ in 0..<header.frames {
          try deadline.check()
          try decoder.next()
          try decoder.checkColors()
        }
      }
      return Proof(header: header)
    }
  }
#endif
