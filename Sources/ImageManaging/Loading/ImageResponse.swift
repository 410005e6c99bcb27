import ImageCaching
public import ImageCoding
public import Base

/// A loaded image.
public struct ImageResponse: Sendable {
  public enum Source: Sendable, Hashable {
    case memory, disk, network
  }

  /// The pixels; nil if the request asks for none, or if the hook ``LoadHooks/shouldDownload`` rejected a miss.
  public var image: DecodedImage?
  /// The bytes, if the request asks for them and they are available.
  public var data: [UInt8]?
  /// The source; nil if the hook rejected a miss.
  public var source: Source?
  /// Whether the image had expired: it was served while it is revalidated, since its server is down
  /// (``/Base/EntryResult/staleReason`` says why), or since the request allows it.
  public var isStale = false { didSet { file?.facts.isStale = isStale } }
  /// The file of the image as requested, for a load that delivers it.
  var file: ImageData?
  /// The outcome as in a report, with size, format and the cost of the transfer.
  public var result: EntryResult
  /// Pixels per point of a layout, from the name in the request's URL: 2 for `a@2x.png`.
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
    file = source.flatMap { ImageData(completion, source: $0) }
  }

  /// Creates a response for the received part of an image.
  init(partial image: DecodedImage, of request: ImageRequest) {
    self.image = image
    scale = ImageScale.factor(inName: request.url)
    source = .network
    result = EntryResult(.downloaded)
    result.image = image.header.properties
    coders = ImageCoderRegistry()
    options = DecodingOptions()
  }

  /// Returns the pixels, decoded now if the request was lazy; a lazy image isn't transformed.
  ///
  /// It decodes on the calling thread. Throws if there are no bytes or the coder can't decode them.
  public func decoded() throws(ImageError) -> DecodedImage {
    if let image { return image }
    guard let data else { throw ImageError(.notAnImage, "the response has no bytes to decode") }
    return try coders.decode(data, options: options)
  }
}

/// Why a single image was not loaded.
public enum ImageLoadError: Error, Sendable, Hashable {
  /// It failed.
  case failed(ImageFailure)
  /// It is blacklisted, and wasn't requested.
  case blacklisted(ImageFailure)
  /// It isn't cached, and the mode allows no requests.
  case notCached
  /// The hook ``LoadHooks/shouldDownload`` rejects it; only ``ImageManager/image(for:)`` and ``ImageManager/data(for:)`` throw this.
  case declined
  /// It was cancelled.
  case cancelled
  /// The manager or the downloader was shut down, before or during the load.
  case shutDown
}

extension ImageLoadError: CustomStringConvertible {
  /// One sentence; it may contain unescaped text from outside.
  public var description: String {
    switch self {
    case .failed(let failure), .blacklisted(let failure): failure.message
    case .notCached: "the image isn't cached, and the mode allows no requests"
    case .declined: "the image isn't cached, and shouldDownload rejects its download"
    case .cancelled: "the load was cancelled"
    case .shutDown: "the image manager or its downloader was shut down"
    }
  }
}
