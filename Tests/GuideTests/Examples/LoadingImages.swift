import PrewarmImages

/// The shortest way.
func loadImage(_ manager: ImageManager, url: String) async throws -> DecodedImage {
  // guide
  let image = try await manager.image(for: url)
  // end
  return image
}

/// All details of an image, with the bytes of its file.
func loadResponse(_ manager: ImageManager, url: String) async throws -> ImageResponse {
  // guide
  var request = ImageRequest(url: url, priority: .high)
  request.decoding.includesData = true

  let response = try await manager.response(for: request)
  switch response.source {
  case .memory, .disk: print("cached, fresh until \(response.result.freshUntil?.description ?? "removed")")
  case .network: print("fetched in \(response.result.duration)")
  case nil: print("rejected by shouldDownload")
  }
  // end
  return response
}

/// Only the file: it is decoded on demand.
func loadData(_ manager: ImageManager, url: String) async throws -> DecodedImage {
  // guide
  var request = ImageRequest(url: url)
  request.decoding.policy = .lazy
  let response = try await manager.response(for: request)
  print("\(response.data?.count ?? 0) bytes")
  let image = try response.decoded()
  // end
  return image
}

/// The file of a thumbnail.
func sendThumbnail(_ manager: ImageManager, url: String) async throws -> ImageData {
  // guide
  var request = ImageRequest(url: url)
  request.decoding.transformer = .resize(width: 16)
  let file = try await manager.data(for: request)
  print("\(file.format.mediaType), \(file.bytes.count) bytes, entity tag \(file.etag)")
  // end
  return file
}

/// An image that is decoded smaller.
func loadThumbnail(_ manager: ImageManager, url: String) async throws -> DecodedImage? {
  // guide
  var request = ImageRequest(url: url)
  request.decoding.options.thumbnail = ImageSize(width: 16, height: 16)
  let thumbnail = try await manager.response(for: request).image
  // end
  return thumbnail
}

/// A task with its events.
func watchTask(_ manager: ImageManager, url: String) async throws -> ImageResponse {
  // guide
  let task = manager.load(url)
  for await event in task.events {
    switch event {
    case .progress(let received, let expected): print("\(received) of \(expected.map(String.init) ?? "?") bytes")
    case .preview(let response): print("meanwhile: \(response.result.width) x \(response.result.height) pixels")
    }
  }
  let response = try await task.value
  // end
  return response
}

/// A load that becomes urgent, then unnecessary.
func cancelTask(_ manager: ImageManager, url: String) -> ImageTask {
  // guide
  let task = manager.load(ImageRequest(url: url, priority: .low))
  task.raisePriority(to: .veryHigh)
  task.cancel()
  // end
  return task
}

/// All reasons for a missing image.
func tellWhy(_ manager: ImageManager, url: String) async -> String {
  // guide
  do throws(ImageLoadError) {
    let image = try await manager.image(for: url)
    return "\(image.pixels.size.pixels) pixels"
  } catch {
    switch error {
    case .failed(let failure) where failure.isTransient: return "not now: \(failure.message)"
    case .failed(let failure): return "\(failure.kind.name): \(failure.message)"
    case .blacklisted(let failure): return "blacklisted: \(failure.message)"
    case .notCached: return "not cached, and the mode is only"
    case .declined: return "rejected by shouldDownload"
    case .cancelled: return "cancelled"
    case .shutDown: return "shut down"
    }
  }
  // end
}

/// Network options of one request.
func askOtherwise(_ manager: ImageManager, url: String, token: String) async throws -> ImageResponse {
  // guide
  var request = ImageRequest(url: url)
  request.options.headers = [.init("Authorization", "Bearer \(token)")]
  request.options.removedHeaders = ["Accept-Language"]
  request.options.handlesCookies = true
  request.options.timeout = .seconds(20)
  request.options.retries = 5
  request.options.maxBytes = 8 << 20
  request.options.connection.httpVersion = .http1
  request.options.credentials = nil
  let response = try await manager.response(for: request)
  // end
  return response
}

/// Decisions by code.
func decideByCode(cache: ImageCache) throws -> ImageManager {
  // guide
  let hooks = LoadHooks(
    shouldDownload: { url in !url.contains("/drafts/") },
    shouldBlockFailedURL: { _, failure in failure.status == 410 },
    cacheKeyFilter: { url in String(url.prefix { $0 != "?" }) }
  )
  let manager = try ImageManager(ImageManager.Configuration(cache: cache, hooks: hooks))
  // end
  return manager
}

/// One image at a time.
func fillSlot(_ manager: ImageManager, first: String, second: String) async -> ImageResponse? {
  // guide
  let slot = ImageSlot(manager: manager)
  slot.bind(first)
  slot.bind(second)
  for await update in slot.updates {
    switch update {
    case .cleared: print("nothing to show")
    case .preview: print("the cached image, for now")
    case .loaded(let response): return response
    case .failed(let error): print("no image: \(error)")
    }
  }
  // end
  return nil
}
