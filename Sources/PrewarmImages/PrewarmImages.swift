// The single import for programs that use the library. scripts/house: it has the name of its module, which has no types.
@_exported public import ImageCaching
@_exported public import ImageCoding
@_exported public import ImageDownloading
@_exported public import ImageManaging
@_exported public import Base

#if FoundationURLs
public import Foundation

extension URL: ImageRequestConvertible {
  public var imageRequest: ImageRequest { ImageRequest(url: absoluteString) }
}

extension Date {
  /// Creates a date from a time of the library.
  public init(_ time: Timestamp) { self.init(timeIntervalSince1970: time.timeIntervalSince1970) }
}

extension Timestamp {
  /// Creates a time of the library, in whole milliseconds.
  public init(_ date: Date) { self.init(timeIntervalSince1970: date.timeIntervalSince1970) }
}

extension ImagePrefetcher {
  /// Starts to load the images at `urls`.
  public func prefetch(urls: [URL]) -> PrefetchTask { prefetch(urls: urls.map(\.absoluteString)) }
}
#endif
