import ImageCaching
import ImageCoding
import ImageManaging
import Base
import TestOrigin
import TestSupport
import Testing

/// The files of images, for programs that send them on.
@Suite struct ImageDataTests {
  private let album = Album.plain()

  private static let large = SampleImages.jpeg(1) + [UInt8](repeating: 0, count: 300_000)

  @Test func `the file of an image is the same from the network and the disk`() async throws {
    let first = try await album.manager.data(for: album.url("/a.jpg"))
    let second = try await album.manager.data(for: album.url("/a.jpg"))
    #expect(first.source == .network && second.source == .disk && album.origin.requests.count == 1)
    for file in [first, second] {
      #expect(file.bytes == SampleImages.jpeg(1) && file.format == .jpeg && file.size == ImageSize(width: 32, height: 24))
      #expect(file.etag == first.etag && file.checksum == first.checksum && file.freshUntil == first.freshUntil)
    }
    #expect(first.etag.count == 34 && first.freshUntil != nil)
    let other = try await album.manager.data(for: album.url("/b.jpg"))
    #expect(other.etag != first.etag)
  }

  /// Where transformed files can be kept.
  enum Place: CaseIterable {
    case disk, nowhere
  }

  @Test(arguments: Place.allCases)
  func `the file of a transformed image is the same for the first client and later ones`(_ place: Place) async throws {
    let album = try Album {
      if place == .nowhere { $0.cache = nil }
      $0.encoding = TransformEncoding(format: .png)
    }
    let request = album.request("/a.jpg", transformer: ResizingTransformer(width: 8))
    let first = try await album.manager.data(for: request)
    let second = try await album.manager.data(for: request)
    #expect(first.source == .network && second.source == (place == .disk ? .disk : .network))
    #expect(first.bytes == second.bytes && first.etag == second.etag && first.freshUntil == second.freshUntil)
    #expect(first.format == .png && first.size == ImageSize(width: 8, height: 6))
    #expect(first.bytes.withUnsafeBytes { ImageFormat(prefix: $0) } == .png)
    // The original is untouched.
    #expect(try await album.manager.data(for: album.url("/a.jpg")).bytes == SampleImages.jpeg(1))
  }

  @Test func `requests for the pixels and for the file of one image at once share a transfer`() async throws {
    let gate = album.origin.holdAll()
    let request = album.request("/a.jpg", transformer: ResizingTransformer(width: 8))
    let pixels = album.manager.load(request)
    let file = Task { [manager = album.manager, request] in try await manager.data(for: request) }
    try await gate.waitForWaiting(1)
    gate.open()
    let (bytes, image) = (try await file.value, try await pixels.value.image)
    #expect(bytes.size.width == 8 && image?.pixels.size.width == 8)
  }

  @Test func `the file of an image that fails throws the reason`() async throws {
    await #expect(throws: ImageLoadError.self) { try await album.manager.data(for: album.url("/none.jpg")) }
    await #expect(throws: ImageLoadError.notCached) {
      try await album.manager.data(for: ImageRequest(url: album.url("/a.jpg"), cachePolicy: .init(mode: .only)))
    }
  }

  @Test func `cancelling a task that waits for a file cancels its load`() async throws {
    let gate = album.origin.holdAll()
    let task = Task { try await album.manager.data(for: album.url("/a.jpg")) }
    try await gate.waitForWaiting(1)
    task.cancel()
    await #expect(throws: ImageLoadError.cancelled) { try await task.value }
    try await album.origin.waitForInFlight(0)
    gate.open()
  }

  @Test func `a large file stays on disk and comes in parts, even after its removal`() async throws {
    album.origin.set("/large.jpg", .body(Self.large, type: "image/jpeg"))
    let first = try await album.manager.file(for: album.url("/large.jpg"))
    let second = try await album.manager.file(for: album.url("/large.jpg"))
    #expect(first.source == .network && second.source == .disk && album.origin.requests.count == 1)
    #expect(first.etag == second.etag && first.byteCount == Self.large.count && second.size == ImageSize(width: 32, height: 24))
    let whole = try await album.manager.data(for: album.url("/large.jpg"))
    #expect(whole.bytes == Self.large && whole.etag == first.etag)
    try await album.manager.remove(album.url("/large.jpg"))
    for file in [first, second] {
      #expect(file.path != nil)
      var parts: [ArraySlice<UInt8>] = []
      for try await part in file.chunks() { parts.append(part) }
      #expect(parts.count == 5 && parts.dropLast().allSatisfy { $0.count == 64 << 10 } && Array(parts.joined()) == Self.large)
    }
  }

  @Test(arguments: [true, false])
  func `a small file, and one without a disk cache, come from memory in parts`(hasCache: Bool) async throws {
    let album = try Album { if !hasCache { $0.cache = nil } }
    let file = try await album.manager.file(for: album.url("/a.jpg"))
    #expect(file.byteCount == SampleImages.jpeg(1).count && file.path == nil && file.source == .network)
    var bytes: [UInt8] = []
    for try await part in file.chunks(ofCount: 7) { bytes += part }
    #expect(bytes == SampleImages.jpeg(1))
    #expect(album.origin.requests.count == 1)
  }

  @Test func `the keys of a transformed file lead to it, without an encoding of the manager`() async throws {
    let request = album.request("/a.jpg", transformer: .resize(width: 8))
    let file = try await album.manager.data(for: request)
    let record = try #require(try await album.manager.record(for: request))
    #expect(record.checksum == file.checksum && record.size.width == 8 && record.byteCount == file.bytes.count)
    #expect(try await album.manager.isOnDisk(request))
    try await album.manager.remove(request)
    #expect(try await album.manager.isOnDisk(request) == false)
    #expect(try await album.manager.data(for: request).source == .network)
  }

  @Test func `removing a URL removes all images made from it`() async throws {
    var requests: [ImageRequest] = []
    for (path, width) in [("/a.jpg", 8), ("/a.jpg", 16), ("/b.jpg", 8)] {
      var request = album.request(path)
      request.decoding.transformer = .resize(width: width)
      requests.append(request)
      _ = try await album.manager.data(for: request)
    }
    try await album.manager.removeAllVersions(of: album.url("/a.jpg"))
    var left: [Bool] = []
    for request in requests { left.append(try await album.manager.isOnDisk(request)) }
    #expect(left == [false, false, true])
    #expect(try await album.manager.data(for: requests[1]).source == .network)
  }

  @Test func `pixels come with the same bytes for the first client and later ones`() async throws {
    let album = try Album {
      $0.memory = nil
      $0.encoding = TransformEncoding(format: .png)
    }
    var request = album.request("/a.jpg", transformer: .resize(width: 8))
    request.decoding.includesData = true
    let first = try await album.manager.response(for: request)
    let second = try await album.manager.response(for: request)
    #expect(first.source == .network && second.source == .disk)
    #expect(first.data != nil && first.data == second.data && first.image?.pixels.size.width == 8)
  }

  @Test func `a file that a serializer replaces is the same for the first client and later ones`() async throws {
    let album = try Album { $0.hooks.cacheSerializer = { _, _, _ in SampleImages.jpeg(2) } }
    let first = try await album.manager.data(for: album.url("/a.jpg"))
    let second = try await album.manager.data(for: album.url("/a.jpg"))
    #expect(first.bytes == SampleImages.jpeg(2) && second.bytes == first.bytes && second.etag == first.etag)
    #expect(first.source == .network && second.source == .disk)
  }

  @Test func `a request leads to its record, the path of a large body, and their removal`() async throws {
    album.origin.set("/large.jpg", .body(Self.large, type: "image/jpeg"))
    let (small, large) = (album.request("/a.jpg"), album.request("/large.jpg"))
    #expect(try await album.manager.record(for: small) == nil)
    #expect(try await album.manager.record(for: large) == nil)
    _ = try await album.manager.data(for: small)
    _ = try await album.manager.data(for: large)
    let record = try #require(try await album.manager.record(for: small))
    #expect(record.identity == album.manager.identity(for: small) && record.format == .jpeg)
    #expect(try await album.manager.file(for: small).path == nil)
    let path = try #require(try await album.manager.file(for: large).path)
    #expect(readFile(path) == Self.large)
    try await album.manager.remove(small)
    #expect(try await album.manager.isCached(small) == false)
    #expect(try await album.manager.isCached(large))
    _ = try await album.manager.image(for: album.url("/b.jpg"))
    try await album.manager.removeAll()
    #expect(try await album.manager.isCached(large) == false)
    #expect(album.memory.count == 0)
    #expect(album.manager.identity(for: ImageRequest(url: "no URL")) == nil)
  }
}
