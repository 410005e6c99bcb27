// The single import for programs that use the library. scripts/house: it has the name of its module, which has no types.
@_exported public import ImageCaching
@_exported public import ImageCoding
@_exported public import ImageDownloading
@_exported public import ImageManaging
@_exported public import Base

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

  /// Loads the file of the image at `url` without reading it into memory if it is large.
  public func file(for url: URL) async throws(ImageLoadError) -> ImageData { try await file(for: url.absoluteString) }

  /// Starts to load the image at `url`.
  public func load(_ url: URL) -> ImageTask { load(url.absoluteString) }

  /// Whether the fresh image at `url` is cached, in memory or on disk.
  public func isCached(_ url: URL) async throws -> Bool { try await isCached(url.absoluteString) }

  /// Removes the image at `url` from memory and disk, with all images that were made from it.
  public func remove(_ url: URL) async throws { try await remove(url.absoluteString) }
}

extension ImagePrefetcher {
  /// Starts to load the images at `urls`.
  public func prefetch(urls: [URL]) -> PrefetchTask { prefetch(urls: urls.map(\.absoluteString)) }
}
#endif
