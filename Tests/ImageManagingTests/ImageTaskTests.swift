import ImageCaching
import ImageCoding
import ImageDownloading
import Base
import TestOrigin
import TestSupport
import Testing

@testable import ImageManaging

/// A load, from its start to its only end.
@Suite struct ImageTaskTests {
  @Test func `an image comes from the network first, then from memory, then from disk`() async throws {
    let gallery = try Gallery()
    let first = try await gallery.manager.response(for: gallery.request(1))
    #expect(first.source == .network && first.image?.header.size == ImageSize(width: 32, height: 24))
    #expect(try await gallery.manager.response(for: gallery.request(1)).source == .memory)
    gallery.memory.removeAll()
    #expect(try await gallery.manager.response(for: gallery.request(1)).source == .disk)
    #expect(gallery.asked == ["/1.jpg"])
  }

  @Test func `a memory hit has ended when the task is returned`() async throws {
    let gallery = try Gallery()
    _ = try await gallery.manager.load(gallery.url(1)).value
    let task = gallery.manager.load(gallery.url(1))
    #expect(task.isFinished)
    task.cancel()
    #expect(try await task.value.source == .memory)
  }

  @Test(arguments: ["", "not a url", "ftp://127.0.0.1/1.jpg"])
  func `an invalid URL has failed when the task is returned`(_ url: String) async throws {
    let gallery = try Gallery()
    let task = gallery.manager.load(url)
    #expect(task.isFinished && !gallery.manager.isRunning)
    await #expect { try await task.value } throws: { error in
      guard case .failed(let failure)? = error as? ImageLoadError else { return false }
      return failure.kind == .invalidURL
    }
    #expect(gallery.origin.requests.isEmpty)
  }

  @Test func `a load that joins a waiting one raises it, and so does a new priority`() async throws {
    let gallery = try Gallery(concurrency: 1)
    let gate = gallery.origin.holdAll()
    var tasks = [gallery.manager.load(gallery.request(0))]
    try await gate.waitForWaiting(1)
    for number in 1...4 { tasks.append(gallery.manager.load(gallery.request(number, priority: .low))) }
    tasks.append(gallery.manager.load(gallery.request(3, priority: .high)))
    tasks[4].raisePriority(to: .normal)
    gate.open()
    for task in tasks { _ = try await task.value }
    #expect(gallery.asked == ["/0.jpg", "/3.jpg", "/4.jpg", "/1.jpg", "/2.jpg"])
  }

  @Test func `a priority raised during the preview applies to the refresh`() async throws {
    let door = Door()
    let transformer = ClosureTransformer(key: "door") { image in
      door.pass()
      return image
    }
    let gallery = try Gallery(concurrency: 1)
    _ = try await gallery.manager.load(gallery.request(1)).value
    gallery.memory.removeAll()
    let gate = gallery.origin.holdAll()
    var tasks = [gallery.manager.load(gallery.request(0))]
    try await gate.waitForWaiting(1)
    tasks.append(gallery.manager.load(gallery.request(2)))
    var request = gallery.request(1, .refresh, priority: .low)
    request.decoding.transformer = transformer
    let raised = gallery.manager.load(request)
    try await door.waitForArrival()
    raised.raisePriority(to: .veryHigh)
    door.open()
    var events = raised.events.makeAsyncIterator()
    guard case .preview = await events.next() else {
      Issue.record("there was no preview")
      return
    }
    // The refresh is requested on the thread that reports the preview, before that handles anything else.
    _ = await gallery.manager.load(ImageRequest(url: gallery.url(1), cachePolicy: .init(mode: .only))).outcome()
    gate.open()
    for task in tasks + [raised] { _ = try await task.value }
    #expect(gallery.asked == ["/1.jpg", "/0.jpg", "/1.jpg", "/2.jpg"])
  }

  @Test func `progress starts at zero and ends with the total, and then the events end`() async throws {
    let gallery = try Gallery()
    let count = SampleImages.jpeg(1).count
    let task = gallery.manager.load(gallery.request(1))
    var received: [Int] = []
    for await event in task.events {
      if case .progress(let bytes, let expected) = event {
        received.append(bytes)
        #expect(expected == nil || expected == count)
      }
    }
    #expect(task.isFinished)
    #expect(received.first == 0 && received.last == count && received == received.sorted())
  }

  @Test func `any number of waiters get the end of one load`() async throws {
    let gallery = try Gallery()
    let gate = gallery.origin.holdAll()
    let task = gallery.manager.load(gallery.request(1))
    let images = try await withThrowingTaskGroup(of: ImageResponse.self) { group in
      for _ in 0..<50 { group.addTask { try await task.value } }
      try await gate.waitForWaiting(1)
      gate.open()
      return try await group.reduce(into: []) { $0.append($1.image) }
    }
    #expect(images.count == 50 && images.allSatisfy { $0 == images[0] && $0 != nil })
  }

  @Test func `cancelling a waiting task cancels its load, and others of the image continue`() async throws {
    let gallery = try Gallery()
    let gate = gallery.origin.holdAll()
    let (task, other) = (gallery.manager.load(gallery.request(1)), gallery.manager.load(gallery.request(1)))
    let caller = Task { try await task.value.source }
    try await gate.waitForWaiting(1)
    caller.cancel()
    await #expect(throws: ImageLoadError.cancelled) { try await caller.value }
    #expect(task.isFinished)
    gate.open()
    #expect(try await other.value.source == .network)
  }

  @Test func `each consumer of a load's events gets them all`() async throws {
    let gallery = try Gallery()
    let gate = gallery.origin.holdAll()
    let task = gallery.manager.load(gallery.request(1))
    let count = { (events: AsyncStream<ImageTask.Event>) in Task { await events.reduce(0) { count, _ in count + 1 } } }
    let early = [count(task.events), count(task.events)]
    gate.open()
    _ = try await task.value
    let (first, second, late) = (await early[0].value, await early[1].value, await count(task.events).value)
    #expect(first > 0 && first == second && first == late)
  }

  @Test func `a refresh shows the cached image first, and then the network's result`() async throws {
    let gallery = try Gallery()
    _ = try await gallery.manager.load(gallery.request(1)).value
    gallery.origin.set("/1.jpg", .computed { $0.headers["If-None-Match"] == "\"1\"" ? .status(304) : .status(500) })
    let task = gallery.manager.load(gallery.request(1, .refresh))
    var previews: [ImageResponse.Source?] = []
    for await event in task.events { if case .preview(let response) = event { previews.append(response.source) } }
    let response = try await task.value
    #expect(previews == [.memory] && response.source == .disk && response.result.outcome == .revalidated)
  }

  @Test(arguments: [CacheMode.refresh, .loaderOnly])
  func `a refresh without a disk cache requests the image`(_ mode: CacheMode) async throws {
    let gallery = try Gallery()
    let manager = try ImageManager(ImageManager.Configuration(memory: gallery.memory, options: .patient()))
    _ = try await manager.load(gallery.request(1)).value
    #expect(try await manager.load(gallery.request(1)).value.source == .memory)
    #expect(try await manager.load(gallery.request(1, mode)).value.source == .network)
    #expect(gallery.origin.requests.count == 2)
  }
}
