import PrewarmImages
import TestOrigin
import TestSupport
import Testing

@Suite struct LoadingExampleTests {
  private let site: ExampleOrigin

  init() throws { site = try ExampleOrigin() }

  @Test func `the example with parts of one's own prefetches all images`() async throws {
    let result = try await gettingStarted(folder: site.folder.file("started"), urls: site.images)
    #expect(result.loaded == 10 && result.total == 10)
  }

  @Test func `image(for:) returns the pixels`() async throws {
    let image = try await loadImage(site.manager, url: site.image(1))
    #expect(image.header.format == .jpeg && image.pixels.size == ImageSize(width: 32, height: 24))
  }

  @Test func `a response has the bytes besides the image`() async throws {
    let first = try await loadResponse(site.manager, url: site.image(1))
    #expect(first.source == .network && first.image != nil && first.data == SampleImages.jpeg(1))
    #expect(try await loadResponse(site.manager, url: site.image(1)).data == SampleImages.jpeg(1))
    #expect(site.origin.requests.count == 1)
  }

  @Test func `a lazy request decodes on demand`() async throws {
    #expect(try await loadData(site.manager, url: site.image(1)).pixels.size.width == 32)
    #expect(site.memory.count == 0)
  }

  @Test func `a thumbnail fits its box`() async throws {
    #expect(try await loadThumbnail(site.manager, url: site.image(1))?.pixels.size == ImageSize(width: 16, height: 12))
  }

  @Test func `the file of a thumbnail is the same each time`() async throws {
    let file = try await sendThumbnail(site.manager, url: site.image(1))
    #expect(file.size == ImageSize(width: 16, height: 12) && file.source == .network)
    #expect(try await sendThumbnail(site.manager, url: site.image(1)).etag == file.etag)
  }

  @Test func `a task can be watched to its end`() async throws {
    #expect(try await watchTask(site.manager, url: site.image(1)).source == .network)
  }

  @Test func `a cancelled task ends as cancelled`() async throws {
    let gate = site.origin.holdAll()
    let task = cancelTask(site.manager, url: site.image(1))
    await #expect(throws: ImageLoadError.cancelled) { try await task.value }
    gate.open()
  }

  @Test func `every failure reason is reported`() async throws {
    #expect(await tellWhy(site.manager, url: site.image(1)) == "768 pixels")
    #expect(await tellWhy(site.manager, url: site.origin.url("/none.jpg")).hasPrefix("http-status: "))
    expectGolden(await tellWhy(site.manager, url: site.origin.url("/none.jpg")))
    #expect(await tellWhy(site.manager, url: "").hasPrefix("invalid-url: "))
  }

  @Test func `a request's options reach the server`() async throws {
    let response = try await askOtherwise(site.manager, url: site.image(1), token: "secret")
    #expect(response.source == .network)
    #expect(site.origin.requests[0].headers["Authorization"] == "Bearer secret")
  }

  @Test func `hooks decide`() async throws {
    let manager = try decideByCode(cache: site.cache)
    await #expect(throws: ImageLoadError.declined) { try await manager.image(for: site.origin.url("/drafts/a.jpg")) }
    _ = try await manager.image(for: site.image(1) + "?width=100")
    #expect(try await manager.response(for: ImageRequest(url: site.image(1) + "?width=200")).source == .disk)
    for _ in 0..<2 { _ = await tellWhy(manager, url: site.origin.url("/none.jpg")) }
    #expect(site.origin.count(of: "/none.jpg") == 2)
  }

  @Test func `a slot shows the last bound image`() async throws {
    let response = await fillSlot(site.manager, first: site.origin.url("/none.jpg"), second: site.image(2))
    #expect(response?.image != nil)
  }

  @Test func `a custom loader responds`() async throws {
    site.folder.write(SampleImages.jpeg(1), to: "hero.jpg")
    #expect(try await loadAsset(cache: site.cache, folder: site.folder.path).pixels.size.width == 32)
    #expect(site.origin.requests.isEmpty)
  }

  @Test func `a loader reports that nothing has changed`() async throws {
    let loader = VersionedLoader(version: "\"7\"", body: SampleImages.jpeg(1))
    let downloads = ImageDownloader.Configuration(loaders: [loader])
    let manager = try ImageManager(ImageManager.Configuration(cache: site.cache, downloader: downloads))
    let url = "https://assets.example.com/hero.jpg"
    #expect(try await manager.response(for: ImageRequest(url: url)).result.outcome == .downloaded)
    #expect(try await refresh(manager, url: url).final.result.outcome == .revalidated)
  }

  @Test func `a custom transformer makes the image`() async throws {
    let half = try await loadHalf(site.manager, url: site.image(1))
    #expect(half.image?.pixels.size == ImageSize(width: 16, height: 12))
    #expect(try await loadHalf(site.manager, url: site.image(1)).source == .memory)
    let grey = try await makeGrey(cache: site.cache, memory: site.memory).image(for: site.image(1))
    #expect(grey.pixels.bytes[0] == grey.pixels.bytes[1] && grey.pixels.size.width == 32)
    #expect(site.origin.requests.count == 1)
  }
}

@Suite struct CodersAloneExampleTests {
  private let photo = SampleImages.jpeg(1)

  @Test func `a thumbnail is a JPEG that fits its box`() throws {
    let header = try ImageCoderRegistry.standard.header(of: thumbnail(of: photo))
    #expect(header.format == .jpeg && header.size == ImageSize(width: 32, height: 24))
    #expect(throws: ImageError.self) {
      try thumbnail(of: Array("<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/>".utf8))
    }
  }

  @Test func `bytes are described`() {
    #expect(describe(photo) == "jpeg, 32 x 24 pixels, 0 warnings")
    #expect(describe(Array(photo.dropLast(photo.count / 2))).hasPrefix("broken jpeg: "))
    #expect(describe(Array("hello".utf8)) == "not an image")
  }

  @Test func `an avatar is a round PNG`() throws {
    let avatar = try ImageCoderRegistry.standard.decode(makeAvatar(ImageCoderRegistry.standard.decode(photo)))
    // Images aren't enlarged.
    #expect(avatar.header.format == .png && avatar.pixels.size == ImageSize(width: 24, height: 24))
    #expect(avatar.pixels.bytes[3] == 0 && avatar.header.hasAlpha)
  }
}
