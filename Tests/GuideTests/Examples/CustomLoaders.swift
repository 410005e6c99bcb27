import Foundation
import PrewarmImages

// guide
/// Loads `asset:NAME` from the files of a folder.
struct AssetLoader: ImageLoader {
  let folder: String

  func canLoad(_ url: String) -> Bool { url.hasPrefix("asset:") }

  func load(_ request: LoaderRequest) async throws -> LoaderResponse {
    let name = String(request.url.dropFirst("asset:".count))
    guard !name.contains("/"), let file = FileManager.default.contents(atPath: "\(folder)/\(name)") else {
      throw ImageFailure(.httpStatus, status: 404, message: "there is no asset \(name)")
    }
    return LoaderResponse(body: [UInt8](file), freshness: Freshness(lifetime: .seconds(3600)))
  }
}
// end

/// A manager with that loader.
func loadAsset(cache: ImageCache, folder: String) async throws -> DecodedImage {
  // guide
  let downloads = ImageDownloader.Configuration(loaders: [AssetLoader(folder: folder)])
  let manager = try ImageManager(ImageManager.Configuration(cache: cache, downloader: downloads))
  let image = try await manager.image(for: "asset:hero.jpg")
  // end
  return image
}

// guide
/// Compares versions, so that an unchanged image isn't sent again.
struct VersionedLoader: ImageLoader {
  let version: String
  let body: [UInt8]

  func canLoad(_ url: String) -> Bool { url.hasPrefix("https://assets.example.com/") }

  func load(_ request: LoaderRequest) async throws -> LoaderResponse {
    if request.validators?.etag == version { return .notModified }
    return LoaderResponse(body: body, contentType: "image/jpeg", validators: Validators(etag: version))
  }
}
// end
