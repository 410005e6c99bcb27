// A server of thumbnails: GET /320/photos/1.jpg sends the origin's /photos/1.jpg, 320 pixels wide. Usage: server PORT ORIGIN FOLDER
// guide
import Hummingbird
import Logging
import Metrics
import PrewarmImages
import PrewarmObserving
import ServiceLifecycle

/// Shuts the manager down with the server: services end in reverse order, so the last response is sent by then.
struct ImageService: Service {
  let manager: ImageManager

  func run() async throws {
    try await gracefulShutdown()
    await manager.shutDown()
  }
}
// end

@main
struct Server {
  static func main() async throws {
    let (port, origin, folder) = (CommandLine.arguments[1], CommandLine.arguments[2], CommandLine.arguments[3])
    // guide
    let logger = Logger(label: "images")
    let manager = try ImageManager(
      ImageManager.Configuration(
        cache: ImageCache(ImageCache.Configuration(directory: folder, maxSize: 2 << 30, freshness: .http)),
        observers: [.logging(to: logger), .metrics()]
      )
    )
    // end

    // guide
    let router = Router()
    router.get("{width}/**") { request, context in
      let width = try context.parameters.require("width", as: Int.self)
      guard [320, 640, 1280].contains(width) else { throw HTTPError(.notFound) }
      let path = context.parameters.getCatchAll().joined(separator: "/")
      var load = ImageRequest(url: "\(origin)/\(path)")
      load.decoding.transformer = .resize(width: width)
      do throws(ImageLoadError) {
        let file = try await manager.data(for: load)
        if request.headers[.ifNoneMatch] == file.etag { return Response(status: .notModified, headers: [.eTag: file.etag]) }
        return Response(
          status: .ok,
          headers: [.contentType: file.format.mediaType, .eTag: file.etag, .cacheControl: "public, max-age=3600"],
          body: ResponseBody(byteBuffer: ByteBuffer(bytes: file.bytes))
        )
      } catch {
        switch error {
        case .failed(let failure), .blacklisted(let failure): throw HTTPError(failure.status == 404 ? .notFound : .badGateway)
        case .shutDown, .cancelled: throw HTTPError(.serviceUnavailable)
        case .notCached, .declined: throw HTTPError(.notFound)
        }
      }
    }
    // end

    // guide
    router.get("original/**") { _, context in
      let path = context.parameters.getCatchAll().joined(separator: "/")
      let file = try await manager.file(for: "\(origin)/\(path)")
      return Response(
        status: .ok,
        headers: [.contentType: file.format.mediaType, .contentLength: "\(file.byteCount)", .eTag: file.etag],
        body: ResponseBody(contentLength: file.byteCount) { writer in
          for try await part in file.chunks() { try await writer.write(ByteBuffer(bytes: part)) }
          try await writer.finish(nil)
        }
      )
    }
    // end

    // guide
    let app = Application(
      router: router,
      configuration: .init(address: .hostname("127.0.0.1", port: Int(port) ?? 8080)),
      services: [ImageService(manager: manager)],
      logger: logger
    )
    try await app.runService()
    // end
  }
}

/// Prints failed loads.
func printFailures() -> ImageManager.Observer {
  // guide
  let failures = ImageManager.Observer { event in
    if case .ended(let url, let result) = event, let failure = result.failure { print("\(url): \(failure.message)") }
  }
  // end
  return failures
}
