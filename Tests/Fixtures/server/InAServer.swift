// A server of images: GET /thumbnails/320/photos/1.jpg sends the origin's /photos/1.jpg, 320 pixels wide, and /originals/photos/1.jpg the file
// itself. Usage: server PORT ORIGIN FOLDER
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

// guide
/// Loads what a client asks for: at once if it is cached; otherwise its load ends when the client leaves, unless others wait for it, too.
func load<File: Sendable>(
  _ image: ImageRequest,
  for request: Request,
  _ load: @escaping @Sendable (ImageRequest) async throws(ImageLoadError) -> File
) async throws -> File {
  do {
    var cached = image
    cached.cachePolicy.mode = .only
    do throws(ImageLoadError) { return try await load(cached) } catch { guard error == .notCached else { throw error } }
    // Waiting for the end of the request's body takes its connection, which closes after the response.
    return try await request.body.consumeWithCancellationOnInboundClose { _ in try await load(image) }
  } catch let error as ImageLoadError {
    let isBusy = error.httpStatus == 503
    throw HTTPError(.init(code: error.httpStatus), headers: isBusy ? [.retryAfter: "2"] : [:], message: nil)
  }
}

/// The headers that a 200, a 206 and a 304 share (RFC 9110, section 15.4.5).
func headers(_ facts: ImageFacts) -> HTTPFields {
  [.eTag: facts.etag, .cacheControl: "public, max-age=3600", .contentLength: "\(facts.byteCount)"]
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
        cache: ImageCache(ImageCache.Configuration(directory: folder, maxBodyBytes: 2 << 30, freshness: .http)),
        observers: [.logging(to: logger), .metrics()]
      )
    )
    // end

    // guide
    let router = Router(options: .autoGenerateHeadEndpoints)
    router.get("thumbnails/{width}/**") { request, context in
      let width = try context.parameters.require("width", as: Int.self)
      let path = context.parameters.getCatchAll().joined(separator: "/")
      guard [320, 640, 1280].contains(width), var image = ImageRequest(path: path, below: origin) else {
        throw HTTPError(.notFound)
      }
      image.decoding.transformer = .resize(width: width)
      if ImageFormat.preferred(by: request.headers[.accept], among: [.webp, .jpeg]) == .webp {
        image.decoding.encoding = TransformEncoding(format: .webp)
      }
      let file = try await load(image, for: request) { image throws(ImageLoadError) in try await manager.data(for: image) }
      var headers = headers(file.facts)
      headers[.vary] = "Accept"
      if file.facts.isCurrent(ifNoneMatch: request.headers[.ifNoneMatch]) {
        return Response(status: .notModified, headers: headers)
      }
      headers[.contentType] = file.format.mediaType
      return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: file.bytes)))
    }
    // end

    // guide
    router.get("originals/**") { request, context in
      let path = context.parameters.getCatchAll().joined(separator: "/")
      guard let image = ImageRequest(path: path, below: origin) else { throw HTTPError(.notFound) }
      let file = try await load(image, for: request) { image throws(ImageLoadError) in try await manager.file(for: image) }
      var headers = headers(file.facts)
      if file.facts.isCurrent(ifNoneMatch: request.headers[.ifNoneMatch]) {
        return Response(status: .notModified, headers: headers)
      }
      (headers[.contentType], headers[.acceptRanges]) = (file.format.mediaType, "bytes")
      let part = file.facts.part(range: request.headers[.range], ifRange: request.headers[.ifRange])
      headers[.contentRange] = part.contentRange(of: file.byteCount)
      let range: Range<Int>
      switch part {
      case .whole: range = 0..<file.byteCount
      case .bytes(let bytes): range = bytes
      case .unsatisfiable:
        throw HTTPError(.rangeNotSatisfiable, headers: [.contentRange: "bytes */\(file.byteCount)"], message: nil)
      }
      headers[.contentLength] = "\(range.count)"
      let body = ResponseBody(contentLength: range.count) { writer in
        for try await part in file.chunks(in: range) { try await writer.write(ByteBuffer(bytes: part)) }
        try await writer.finish(nil)
      }
      return Response(status: part == .whole ? .ok : .partialContent, headers: headers, body: body)
    }
    // end

    // guide
    router.get("ready") { _, _ in
      // The cache answers, and the manager takes loads; an origin that is down is no reason to take this server away.
      _ = try await manager.isCached("https://www.example.com/ready")
      return Response(status: manager.isShutDown ? .serviceUnavailable : .ok)
    }
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
