import ImageCaching
import ImageCoding
import ImageDownloading
import ImagePrimitives
import TestOrigin
import TestSupport
import Testing

@testable import ImageManaging

/// Downloaders that single requests bring along.
@Suite struct DownloaderLifetimeTests {
  /// A loader that runs a closure on the transfer thread, and loads nothing.
  private struct Visitor: ImageLoader {
    let visit: @Sendable () -> Void
    func canLoad(_ url: String) -> Bool {
      visit()
      return false
    }
    func load(_ request: LoaderRequest) async throws -> LoaderAnswer { LoaderAnswer(body: []) }
  }

  private final class Deaf: DownloadReceiver {
    var mayStart: Bool { true }
    func receive(_ events: [DownloadEvent]) {}
  }

  @Test("M23: what is kept of a downloader goes with it") func clientsGoWithTheirDownloaders() throws {
    let clients = DownloadClients(of: try ImageDownloader(), receiver: Deaf())
    weak var first: DownloadClient?
    try {
      let downloaders = try (0..<20).map { _ in try ImageDownloader() }
      for downloader in downloaders {
        let client = clients.client(of: downloader)
        #expect(client === clients.client(of: downloader))
        if first == nil { first = client }
      }
      #expect(first != nil && clients.all.count == 21)
    }()
    _ = clients.client(of: try ImageDownloader())
    #expect(first == nil && clients.all.count == 2)
    #expect(clients.client(of: nil) === clients.all[0])
  }

  @Test("M23: each request may bring a downloader of its own") func oneForEachRequest() async throws {
    let album = try Album()
    for _ in 0..<30 {
      var request = album.request("/a.jpg", mode: .loaderOnly)
      request.network.downloader = try ImageDownloader()
      // Such a request's context is not kept, and so neither is the downloader.
      request.decoding.coders = .standard
      #expect(try await album.manager.response(for: request).source == .network)
    }
  }

  @Test("M23: a downloader that ends with the contexts which are forgotten keeps no other load waiting", .timeLimit(.minutes(1)))
  func forgettingContexts() async throws {
    let manager = try ImageManager()
    defer { manager.shutDown() }
    let table = manager.contexts
    let held = Held()
    let isVisited = Watched(false)
    let visitor = Visitor {
      isVisited.withLock { $0 = true }
      // Until its end has begun, which waits for this thread.
      while held.downloader != nil {}
      _ = table.context(for: ImageRequest(url: "http://127.0.0.1/"), mode: .use, servesExpired: false)
    }
    try await {
      let downloader = try ImageDownloader(ImageDownloader.Configuration(loaders: [visitor]))
      held.downloader = downloader
      downloader.client(Deaf()).submit([Download(id: 1, url: Array("visit:me".utf8), options: DownloadOptions())])
      try await isVisited.wait(for: "the visitor") { $0 }
      var request = ImageRequest(url: "http://127.0.0.1/")
      request.network.downloader = downloader
      _ = table.context(for: request, mode: .use, servesExpired: false)
    }()
    #expect(held.downloader != nil)
    // Each of these options makes a context of its own, until the table begins anew.
    let options = (0..<300).map { _ in DownloadOptions() }
    for options in options {
      var request = ImageRequest(url: "http://127.0.0.1/")
      request.network.options = options
      _ = table.context(for: request, mode: .use, servesExpired: false)
    }
    #expect(held.downloader == nil)
  }

  /// A downloader that somebody else keeps.
  private final class Held: @unchecked Sendable {
    // Sendable because it is written once, before the thread that reads it is given anything to do.
    weak var downloader: ImageDownloader?
  }
}
