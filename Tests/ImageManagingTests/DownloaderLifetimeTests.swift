import Foundation
import ImageCaching
import ImageCoding
import ImageDownloading
import Base
import TestOrigin
import TestSupport
import Testing

@testable import ImageManaging

/// Downloaders of single requests.
@Suite struct DownloaderLifetimeTests {
  private final class Deaf: DownloadReceiver {
    var mayStart: Bool { true }
    func receive(_ events: [DownloadEvent]) {}
  }

  @Test func `state kept for a downloader is released with it`() throws {
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

  @Test func `each request may bring its own downloader`() async throws {
    let album = try Album()
    for _ in 0..<30 {
      var request = album.request("/a.jpg", mode: .loaderOnly)
      request.downloader = try ImageDownloader()
      // Such a request's context isn't kept, and so neither is the downloader.
      request.decoding.coders = .standard
      #expect(try await album.manager.response(for: request).source == .network)
    }
  }

  /// Uses a table on the transfer thread when its download is cancelled, at the end of its downloader.
  private final class Visitor: DownloadReceiver {
    private let table: ContextTable
    private let isAnswered = Watched(false)

    init(of table: ContextTable) { self.table = table }

    /// Whether the table has responded.
    var hasAnswer: Bool { isAnswered.value }

    var mayStart: Bool { true }

    func receive(_ events: [DownloadEvent]) {
      // A separate thread uses the table, and this one waits for a limited time, so that a deadlock fails the test instead of
      // blocking it.
      Thread.detachNewThread { [table, isAnswered] in
        _ = table.context(for: ImageRequest(url: "http://127.0.0.1/"), mode: .use, servesExpired: false)
        isAnswered.withLock { $0 = true }
      }
      do { try isAnswered.wait(for: "the table's answer") { $0 } } catch { Issue.record(error) }
    }
  }

  @Test func `a downloader that ends with its contexts delays no other load`() throws {
    let manager = try ImageManager(ImageManager.Configuration())
    defer { manager.shutDown() }
    let table = manager.contexts
    let visitor = Visitor(of: table)
    let client = try {
      let downloader = try ImageDownloader()
      downloader.isSuspended = true
      var request = ImageRequest(url: "http://127.0.0.1/")
      request.downloader = downloader
      _ = table.context(for: request, mode: .use, servesExpired: false)
      let client = downloader.client(visitor)
      client.submit([Download(id: 1, requestURL: Array("http://127.0.0.1/".utf8), options: PreparedOptions(DownloadOptions()))])
      return client
    }()
    // From here on only the table retains the downloader.
    #expect(!visitor.hasAnswer)
    // Each of these options has a context of its own, until a new table is started.
    for retries in 0..<300 {
      var request = ImageRequest(url: "http://127.0.0.1/")
      request.options.retries = retries
      _ = table.context(for: request, mode: .use, servesExpired: false)
    }
    // The end of a downloader waits for its receivers.
    #expect(visitor.hasAnswer)
    client.close()
  }
}
