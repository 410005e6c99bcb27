#if FoundationURLs
public import Foundation

extension ImageRequest {
  /// Creates a request for the image at `url`, with the manager's settings.
  public init(url: URL) { self.init(url: url.absoluteString) }
}

extension ImageManager {
  /// Loads the image at `url` and returns its pixels.
  public func image(for url: URL) async throws(ImageLoadError) -> DecodedImage { try await image(for: url.absoluteString) }

  /// Loads the file of the image at `url`.
  public func data(for url: URL) async throws(ImageLoadError) -> ImageData { try await data(for: url.absoluteString) }
}
#endif
