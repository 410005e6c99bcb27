public import ImageCoding
public import ImagePrimitives

/// A loaded image.
public struct ImageResponse: Sendable {
  /// Where an image came from.
  public enum Source: Sendable, Hashable {
    case memory, disk, network
  }

  /// The pixels; nil where the request asks for none, and where the hook ``LoadHooks/shouldDownload`` refused a miss.
  public var image: DecodedImage?
  /// The bytes, where the request asks for them and they are known.
  public var data: [UInt8]?
  /// Where it came from; nil where nothing came, since the hook refused.
  public var source: Source?
  /// The outcome, as a report has it, with size, format and what the transfer cost.
  public var result: EntryResult
  /// How many pixels make one point of a layout, by the name in the request's URL: 2 for `a@2x.png`; see ``/ImageCoding/ImageScale``.
  public var scale: Double
  private let coders: ImageCoderRegistry
  private let options: DecodingOptions

  init(_ completion: LoadCompletion, of request: ImageRequest, coders: ImageCoderRegistry) {
    image = completion.payload?.image
    data = completion.payload?.data
    result = completion.result
    scale = ImageScale.factor(inName: request.url)
    self.coders = coders
    options = request.decoding.options
    source =
      switch completion.result.outcome {
      case .hitMemory: .memory
      case .hitDisk, .revalidated: .disk
      case .downloaded, .checked: .network
      case .failed, .blacklisted, .skipped, .cancelled: nil
      }
  }

  /// What has come of an image that is still on its way.
  init(partial image: DecodedImage, of request: ImageRequest) {
    self.image = image
    scale = ImageScale.factor(inName: request.url)
    source = .network
    result = EntryResult(.downloaded)
    result.format = image.header.format
    result.width = UInt32(clamping: image.header.size.width)
    result.height = UInt32(clamping: image.header.size.height)
    coders = ImageCoderRegistry()
    options = DecodingOptions()
  }

  /// The pixels, decoded now where the request was lazy; a lazy image is not transformed.
  ///
  /// It works on the calling thread. Throws where there are no bytes, and what the coder says of those that it cannot decode.
  public func decoded() throws(ImageError) -> DecodedImage {
    if let image { return image }
    guard let data else { throw ImageError(.notAnImage, "the response has no bytes to decode") }
    return try data.withRawBytes { bytes throws(ImageError) in
      guard let format = ImageFormat(prefix: bytes), let coder = coders.coder(for: format) else {
        throw ImageError(.undecodable, "no coder is registered for these bytes")
      }
      return try coder.decode(bytes, options: options, limits: DecodingLimits())
    }
  }
}

/// Why a single image was not loaded.
public enum ImageLoadError: Error, Sendable, Hashable {
  /// It failed.
  case failed(Failure)
  /// It is known bad, and was not asked for.
  case blacklisted(Failure)
  /// It is not cached, and the network was not to be asked.
  case notCached
  /// The hook ``LoadHooks/shouldDownload`` does not want it; only ``ImageManager/image(for:)`` throws this.
  case declined
  /// It was cancelled.
  case cancelled
}

extension ImageLoadError: CustomStringConvertible {
  /// One sentence; text from outside in it is not escaped.
  public var description: String {
    switch self {
    case .failed(let failure), .blacklisted(let failure): failure.message
    case .notCached: "the image is not cached, and the network was not to be asked"
    case .declined: "the image is not cached, and shouldDownload does not want it fetched"
    case .cancelled: "the load was cancelled"
    }
  }
}
