import Base
import Foundation
import ImageCaching
import ImageCoding
import ImageDownloading
import TestOrigin
import TestSupport
import Testing

@testable import ImageManaging

/// What loads share, and what keeps them apart.
@Suite struct SharingTests {
  private let album = Album.plain()
  private let loader = Loader.plain()
  private var origin: Origin { loader.origin }

  @Test func `two loads of one image share a request and a decode`() async throws {
    let counting = CountingCoder()
    let album = try Album { $0.coders.add(counting) }
    let gate = album.origin.holdAll()
    let tasks = (0..<5).map { _ in album.manager.load(album.request("/a.jpg")) }
    try await gate.waitForWaiting(1)
    gate.open()
    for task in tasks { #expect(try await task.value.source == .network) }
    #expect(album.origin.requests.count == 1 && counting.decodes == 1)
  }

  @Test func `loads with other rules share the request, and each is judged by its own rules`() async throws {
    origin.set("/large.jpg", .body(SampleImages.jpeg(1, padding: 300_000), type: "image/jpeg"))
    let gate = origin.holdAll()
    let strict = LoadOptions(verification: VerificationRules(width: .init(minimum: 1000)))
    let second = Loader.Waiter()
    try loader.ask([origin.url("/large.jpg")], loader.context())
    try await gate.waitForWaiting(1)
    try loader.ask([origin.url("/large.jpg")], loader.context(LoadOptions(delivery: .data)), as: second)
    gate.open()
    #expect(try await loader.results(1)[0].outcome == .downloaded)
    let completion = try await second.completions(1)[0].1
    #expect(completion.result.outcome == .hitDisk)
    #expect(completion.payload?.data == SampleImages.jpeg(1, padding: 300_000))
    #expect(origin.requests.count == 1)
    // A request whose rules the image breaks is requested again after the other.
    #expect(try await loader.load(origin.url("/large.jpg"), loader.context(strict)).failure?.kind == .dimensions)
  }

  @Test func `a failed request fails every waiter, whatever their rules`() async throws {
    let gate = origin.holdAll()
    let second = Loader.Waiter()
    try loader.ask([origin.url("/no.jpg")], loader.context())
    try await gate.waitForWaiting(1)
    try loader.ask([origin.url("/no.jpg")], loader.context(verification: VerificationRules(depth: .full)), as: second)
    gate.open()
    #expect(try await loader.results(1)[0].failure?.status == 404)
    let shared = try await second.completions(1)[0].1.result
    #expect(shared.failure?.status == 404 && shared.isShared)
    #expect(origin.requests.count == 1)
  }

  @Test func `different request headers keep requests apart`() async throws {
    let gate = album.origin.holdAll()
    var first = album.request("/a.jpg")
    first.options.headers = [.init("X-Width", "100")]
    var second = first
    second.options.headers = [.init("X-Width", "200")]
    let tasks = [album.manager.load(first), album.manager.load(second)]
    try await gate.waitForWaiting(2)
    gate.open()
    for task in tasks { _ = try await task.value }
    #expect(Set(album.origin.requests.map { $0.headers["X-Width"] }) == ["100", "200"])
  }

  @Test func `a request changes single options, and keeps the manager's others`() async throws {
    let album = try Album {
      $0.options.headers = [.init("X-Manager", "1"), .init("X-Both", "manager"), .init("X-Gone", "1")]
      $0.options.removedHeaders = ["X-Back"]
      $0.options.userAgent = "own"
    }
    var request = album.request("/a.jpg")
    request.options.headers = [.init("x-both", "request"), .init("X-Request", "1"), .init("X-Back", "1")]
    request.options.removedHeaders = ["x-gone"]
    request.options.maxBytes = 10
    #expect(request.options.value(of: \.maxBytes) == 10 && request.options.value(of: \.timeout) == nil)
    await #expect(throws: ImageLoadError.self) { try await album.manager.response(for: request) }
    request.options.maxBytes = 64 << 20
    #expect(try await album.manager.response(for: request).source == .network)
    let headers = album.origin.requests.map(\.headers)
    #expect(headers.count == 2)
    for sent in headers {
      #expect(sent["X-Manager"] == "1" && sent["X-Both"] == "request" && sent["X-Gone"] == nil && sent["X-Request"] == "1")
      #expect(sent["X-Back"] == "1" && sent["User-Agent"] == "own" && sent["Accept"] == ImageCoderRegistry.standard.acceptedTypes)
    }
  }

  @Test func `each of two hooks of one name changes its own requests`() async throws {
    for value in ["1", "2"] {
      var request = album.request("/a.jpg", mode: .bypass)
      request.options.requestModifier = RequestModifier(name: "sign") {
        DownloadRequest(url: $0.url, headers: $0.headers + [HeaderField("X-Sign", value)])
      }
      _ = try await album.manager.response(for: request)
    }
    #expect(album.origin.requests.map { $0.headers["X-Sign"] } == ["1", "2"])
  }

  @Test func `a manager with a value that can't be used isn't created, and the error names it without secrets`() {
    let rows: [(String, (inout ImageManager.Configuration) -> Void)] = [
      ("options: X-A: not a valid header", { $0.options.headers = [.init("X-A", "secret\r\nX-B: c")] }),
      ("options: X A: not a valid header", { $0.options.headers = [.init("X A", "1")] }),
      ("options: a b: not the name of a header", { $0.options.removedHeaders = ["a b"] }),
      ("options: User-Agent: not a valid header", { $0.options.userAgent = "a\nb" }),
      ("options: Accept: not a valid header", { $0.options.accept = "a\nb" }),
      ("options: tls: a client key requires a client certificate", { $0.options.connection.tls.clientKey = "k" }),
      ("options: retries: -1 is below 0", { $0.options.retries = -1 }),
      ("options: redirects: -1 is below 0", { $0.options.redirects = -1 }),
      ("options: maxBytes: -1 is below 0", { $0.options.maxBytes = -1 }),
      ("options: timeout: -1 s is below 0", { $0.options.timeout = .seconds(-1) }),
      ("options: backoff.maximum: -1 s is below 0", { $0.options.backoff.maximum = .seconds(-1) }),
      ("headers: X-A isn't a valid header", { $0.downloader.headers = [.init("X-A", "secret\n")] }),
      ("limits: perHost must be at least 1, not 0", { $0.downloader.limits.perHost = 0 }),
      ("verification: placeholderURLs must be at least 2, not 1", { $0.verification.placeholderURLs = 1 }),
    ]
    for (reason, change) in rows {
      var configuration = ImageManager.Configuration()
      change(&configuration)
      #expect(throws: ImageManagerError.invalidConfiguration(reason)) { try ImageManager(configuration) }
    }
  }

  @Test func `options that can't be used with the manager's fail a load and its look-up, not the process`() async throws {
    let album = try Album { $0.options.connection.proxy = .environment }
    var request = album.request("/a.jpg")
    request.options.connection.addresses = .publicOnly
    await #expect(throws: ImageLoadError.self) { try await album.manager.response(for: request) }
    #expect(album.manager.identity(for: request) == nil && album.manager.isInMemory(request) == false)
    request = album.request("/a.jpg")
    request.decoding.verification = VerificationRules(placeholderURLs: 0)
    await #expect(throws: ImageLoadError.self) { try await album.manager.response(for: request) }
    #expect(album.asked.isEmpty)
  }

  @Test func `a header that can't be sent fails its load, not the process`() async throws {
    var request = album.request("/a.jpg")
    request.options.headers = [.init("X-Forwarded", "a\r\nX-Injected: secret")]
    var sentence = ""
    do throws(ImageLoadError) { _ = try await album.manager.response(for: request) } catch { sentence = "\(error)" }
    #expect(sentence.contains("X-Forwarded") && !sentence.contains("secret"))
    let prefetcher = try ImagePrefetcher(manager: album.manager)
    let result = await prefetcher.prefetch([request, album.request("/b.jpg")]).value
    #expect(result.failed == 1 && result.loaded == 1 && result.total == 2)
    #expect(album.origin.requests.map(\.target) == ["/b.jpg"])
    let options = DownloadOptions { $0.removedHeaders = ["no name"] }
    await #expect(throws: DownloadError.self) {
      try await album.manager.downloader.data(from: album.url("/b.jpg"), options: options)
    }
  }

  /// Ways to show who asks.
  enum Sender: String, CaseIterable {
    case authorization = "Authorization"
    case cookie = "Cookie"
    case apiKey = "X-Api-Key"
    case basic, perHost, urlCredentials, certificate

    /// The request of `user`.
    func request(_ url: String, _ user: String) -> ImageRequest {
      var request = ImageRequest(url: url)
      switch self {
      case .authorization, .cookie, .apiKey: request.options.headers = [.init(rawValue, "\(user)-SECRET")]
      case .basic: request.options.credentials = .fixed(Credential(user: user, password: "SECRET"))
      case .perHost: request.options.credentials = .perHost { _, _, _ in Credential(user: user, password: "SECRET") }
      case .urlCredentials: request.url = url.replacing("http://", with: "http://\(user):SECRET@")
      case .certificate:
        request.options.connection.tls.clientCertificate = "/\(user)-SECRET.pem"
      }
      return request
    }
  }

  /// `Cache-Control`, and whether an image for one user may be shown to another (RFC 9111, section 3.5).
  static let permissions: [(String, Bool)] = [
    ("", false), ("private", false), ("max-age=60", false), ("public, private", false), ("public, max-age=60", true),
    ("s-maxage=60", true), ("must-revalidate, max-age=60", true),
  ]

  @Test(arguments: Sender.allCases, [FreshnessRule.age, .http])
  func `an image for one user's credentials is shown to others only if the server allows it`(
    _ sender: Sender,
    _ freshness: FreshnessRule
  ) async throws {
    let album = try Album(freshness: freshness)
    // A certificate that can't be read matters to TLS only.
    for (number, (control, isShared)) in Self.permissions.enumerated() {
      album.origin.set("/\(number)", .body(SampleImages.jpeg(number), headers: ["Cache-Control": control, "ETag": "\"1\""]))
      let url = album.url("/\(number)")
      #expect(try await album.manager.response(for: sender.request(url, "alice")).source == .network)
      #expect(try await album.manager.response(for: sender.request(url, "alice")).source == .memory)
      let other = try await album.manager.response(for: sender.request(url, "bob")).source
      #expect(other == (isShared ? .memory : .network), "\(control)")
      // Nobody in particular gets neither.
      #expect(try await album.manager.response(for: ImageRequest(url: url)).source == .network)
      #expect(try await album.manager.isCached(sender.request(url, "carol")) == isShared)
      let record = try await album.manager.record(for: sender.request(url, "bob"))
      #expect(record != nil)
      try await album.manager.remove(sender.request(url, "bob"))
      #expect(try await album.manager.isCached(sender.request(url, "bob")) == false)
    }
    let identities = try album.cache.entries(after: nil, limit: 50).map { String(decoding: $0.identity, as: UTF8.self) }
    #expect(identities.allSatisfy { !$0.contains("SECRET") && !$0.contains("alice") })
  }

  @Test(arguments: Sender.allCases)
  func `images are for all credentials if the caller says so`(_ sender: Sender) async throws {
    let album = try Album { $0.options.sharesAcrossCredentials = true }
    #expect(try await album.manager.response(for: sender.request(album.url("/a.jpg"), "alice")).source == .network)
    #expect(try await album.manager.response(for: sender.request(album.url("/a.jpg"), "bob")).source == .memory)
    #expect(try await album.source("/a.jpg") == .memory)
    #expect(try album.cache.totals().entries == 1)
  }

  @Test(arguments: [false, true])
  func `an image for all credentials is revalidated for all, and leaves when a 200 or a 304 forbids it`(by304: Bool) async throws
  {
    let album = try Album(freshness: .http)
    let control = Watched("public, max-age=60")
    album.origin.set(
      "/c.jpg",
      .computed { request in
        let tag = by304 ? #""a""# : "\"\(control.value)\""
        let headers: HeaderFields = ["Cache-Control": control.value, "ETag": tag]
        if request.headers["If-None-Match"] == tag { return .status(304, headers: headers) }
        return .body(SampleImages.jpeg(3), headers: headers)
      }
    )
    let load = { (user: String) in
      album.memory.removeAll()
      return try await album.manager.response(for: Sender.authorization.request(album.url("/c.jpg"), user)).result.outcome
    }
    #expect(try await load("alice") == .downloaded)
    album.clock.advance(by: .seconds(61))
    #expect(try await load("bob") == .revalidated)
    #expect(try await load("carol") == .hitDisk)
    control.withLock { $0 = "private, max-age=60" }
    album.clock.advance(by: .seconds(61))
    #expect(try await load("alice") == .downloaded)
    #expect(try await load("bob") == .downloaded)
    #expect(try await load("alice") == .hitDisk)
  }

  @Test func `a transformed image for all credentials is made once`() async throws {
    let album = try Album { $0.encoding = TransformEncoding(format: .png) }
    album.origin.set("/c.jpg", .body(SampleImages.jpeg(3), headers: ["Cache-Control": "public"]))
    let load = { (user: String, isPrivate: Bool) in
      var request = Sender.cookie.request(album.url(isPrivate ? "/a.jpg" : "/c.jpg"), user)
      request.decoding.transformer = .resize(width: 8)
      return try await album.manager.data(for: request).source
    }
    for isPrivate in [false, true] {
      #expect(try await load("alice", isPrivate) == .network)
      #expect(try await load("bob", isPrivate) == (isPrivate ? .network : .disk))
      #expect(try await load("bob", isPrivate) == .disk)
    }
  }

  @Test func `an image that a modifier requests with credentials of its own isn't stored`() async throws {
    let sign = { (user: String) in
      RequestModifier(name: user) { request in
        var request = request
        request.headers.append(HeaderField("Authorization", user))
        return request
      }
    }
    album.origin.set("/c.jpg", .body(SampleImages.jpeg(3), headers: ["Cache-Control": "public"]))
    for (path, shares, isStored) in [("/a.jpg", false, false), ("/c.jpg", false, true), ("/b.jpg", true, true)] {
      var request = album.request(path)
      request.options.requestModifier = sign("alice \(path)")
      request.options.sharesAcrossCredentials = shares
      #expect(try await album.manager.response(for: request).source == .network)
      request.options.requestModifier = sign("bob \(path)")
      #expect(try await album.manager.response(for: request).source == (isStored ? .memory : .network))
    }
  }

  @Test func `managers share a downloader, and each gets its own results`() async throws {
    let downloader = try ImageDownloader(ImageDownloader.Configuration(limits: .init(concurrency: 1)))
    let first = try Album { $0.sharedDownloader = downloader }
    let second = try Album { $0.sharedDownloader = downloader }
    let tasks = [first.manager.load(first.request("/a.jpg")), second.manager.load(second.request("/b.jpg"))]
    for task in tasks { #expect(try await task.value.source == .network) }
    #expect(try first.cache.totals().entries == 1 && second.cache.totals().entries == 1)
    await first.manager.shutDown()
    #expect(try await second.source("/a.jpg") == .network)
    await second.manager.shutDown()
    await downloader.shutDown()
  }

  @Test func `a load may use another manager's cache, memory, coders and downloader`() async throws {
    let other = try Album()
    let counting = CountingCoder()
    var request = album.request("/a.jpg")
    request.cachePolicy.cache = other.cache
    request.cachePolicy.memory = other.memory
    request.downloader = other.manager.downloader
    request.decoding.coders = .standard
    request.decoding.coders?.add(counting)
    #expect(try await album.manager.response(for: request).source == .network)
    #expect(try album.cache.totals().entries == 0 && other.cache.totals().entries == 1)
    #expect(album.memory.count == 0 && other.memory.count == 1 && counting.decodes == 1)
  }

  @Test func `the shared manager and cache use the default folder, once per process`() async {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      setenv("PREWARM_CACHE_DIR", path, 1)
      let manager = ImageManager.shared
      guard manager === ImageManager.shared, manager.configuration.cache === ImageCache.shared else { exit(1) }
      guard ImageCache.shared.path == "\(path)/default", manager.configuration.memory != nil else { exit(2) }
    }
  }

  @Test func `a manager without a configuration has memory and the cache in the default folder, or throws`() async {
    let folder = TemporaryDirectory()
    await #expect(processExitsWith: .success) { [path = folder.path as String] in
      setenv("PREWARM_CACHE_DIR", path, 1)
      let managers = try [ImageManager(), ImageManager()]
      for manager in managers {
        guard manager.configuration.cache?.path == "\(path)/default", manager.configuration.memory != nil else { exit(1) }
      }
      let file = "\(path)/file"
      guard let handle = fopen(file, "w") else { exit(2) }
      fclose(handle)
      setenv("PREWARM_CACHE_DIR", file, 1)
      do throws(ImageManagerError) { _ = try ImageManager() } catch {
        guard case .cache = error else { exit(3) }
        exit(0)
      }
      exit(4)
    }
  }

  @Test func `two managers over one folder must have the same rules`() throws {
    let folder = TemporaryDirectory()
    let short = try ImageCache(ImageCache.Configuration(directory: folder.path, maxAge: .seconds(60)))
    let long = try ImageCache(ImageCache.Configuration(directory: folder.path, maxBodyBytes: 1000))
    let same = try ImageCache(ImageCache.Configuration(directory: folder.path, maxAge: .seconds(60)))
    let first = try ImageManager(ImageManager.Configuration(cache: short))
    let second = try ImageManager(ImageManager.Configuration(cache: same))
    #expect(throws: ImageManagerError.conflictingCache(path: long.path, rules: ["maxAge", "maxBodyBytes"])) {
      try ImageManager(ImageManager.Configuration(cache: long))
    }
    first.blocking.shutDown()
    second.blocking.shutDown()
  }

  @Test func `caches over one folder are one, however their paths are written`() throws {
    let folder = TemporaryDirectory()
    let link = folder.file("link")
    try FileManager.default.createDirectory(atPath: folder.file("folder"), withIntermediateDirectories: false)
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.file("folder"))
    let short = try ImageCache(ImageCache.Configuration(directory: folder.file("folder"), maxAge: .seconds(60)))
    let same = try ImageCache(ImageCache.Configuration(directory: link, maxAge: .seconds(60)))
    let long = try ImageCache(ImageCache.Configuration(directory: link, maxAge: .seconds(600)))
    let manager = try ImageManager(ImageManager.Configuration(cache: short))
    defer { manager.blocking.shutDown() }
    #expect(throws: ImageManagerError.conflictingCache(path: long.path, rules: ["maxAge"])) {
      try ImageManager(ImageManager.Configuration(cache: long))
    }
    let (downloads, options) = ([PreparedOptions(DownloadOptions.patient())], LoadOptions())
    let token = try #require(LoadSharing.object(for: short, downloads, options))
    #expect(LoadSharing.object(for: same, downloads, options) === token)
  }

  @Test func `a user's image is found in memory without a disk cache`() async throws {
    let album = try Album { $0.cache = nil }
    let url = album.url("/a.jpg").replacingOccurrences(of: "http://", with: "http://user:password@")
    for source in [ImageResponse.Source.network, .memory] {
      #expect(try await album.manager.response(for: ImageRequest(url: url)).source == source)
    }
    let other = ImageRequest(url: url.replacingOccurrences(of: "password", with: "other"))
    #expect(try await album.manager.response(for: other).source == .network)
  }

  @Test func `further caches are searched in order, and nothing is written to them`() async throws {
    let source = try Album()
    _ = try await source.source("/a.jpg")
    _ = try await source.source("/b.jpg")
    let flat = TemporaryDirectory()
    _ = try source.cache.export(to: flat.path, layout: .sdwebimage(withExtension: false))
    try await source.manager.remove(source.url("/b.jpg"))
    let stores = [
      try ReadOnlyCache(opening: source.folder.path, namespace: "default"),
      try ReadOnlyCache(opening: flat.path, namespace: "default"),
    ]
    let album = try Album {
      $0.readOnly = stores
      $0.memory = nil
    }
    for path in ["/a.jpg", "/b.jpg"] {
      let response = try await album.manager.response(for: ImageRequest(url: source.url(path)))
      #expect(response.source == .disk && response.image != nil)
    }
    #expect(source.origin.requests.count == 2)
    #expect(try album.cache.totals().entries == 0 && source.cache.totals().entries == 1)
    await #expect(throws: ImageLoadError.self) { try await album.manager.response(for: ImageRequest(url: source.url("/c.jpg"))) }
  }
}

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
    defer { manager.blocking.shutDown() }
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
