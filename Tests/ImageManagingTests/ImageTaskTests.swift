import Base
import ImageCaching
import ImageCoding
import ImageDownloading
import TestOrigin
import TestSupport
import Testing

@testable import ImageManaging

/// A load, from its start to its only end.
@Suite struct ImageTaskTests {
  private let album = Album.plain()

  @Test func `a memory hit has ended when the task is returned`() async throws {
    _ = try await album.manager.load(album.url(1)).value
    let task = album.manager.load(album.url(1))
    #expect(task.isFinished)
    task.cancel()
    #expect(try await task.value.source == .memory)
  }

  @Test(arguments: ["", "not a url", "ftp://127.0.0.1/1.jpg"])
  func `an invalid URL has failed when the task is returned`(_ url: String) async throws {
    let task = album.manager.load(url)
    #expect(task.isFinished && !album.manager.isRunning)
    await #expect { try await task.value } throws: { error in
      guard case .failed(let failure)? = error as? ImageLoadError else { return false }
      return failure.kind == .invalidURL
    }
    #expect(album.origin.requests.isEmpty)
  }

  @Test func `a load that joins a waiting one raises it, and so does a new priority`() async throws {
    let album = try Album(concurrency: 1)
    let gate = album.origin.holdAll()
    var tasks = [album.manager.load(album.request(0))]
    try await gate.waitForWaiting(1)
    for number in 1...4 { tasks.append(album.manager.load(album.request(number, priority: .low))) }
    tasks.append(album.manager.load(album.request(3, priority: .high)))
    tasks[4].raisePriority(to: .normal)
    gate.open()
    for task in tasks { _ = try await task.value }
    #expect(album.asked == ["/0.jpg", "/3.jpg", "/4.jpg", "/1.jpg", "/2.jpg"])
  }

  @Test func `a priority raised during the preview applies to the refresh`() async throws {
    let door = Door()
    let album = try Album(concurrency: 1)
    _ = try await album.manager.load(album.request(1)).value
    album.memory.removeAll()
    let gate = album.origin.holdAll()
    var tasks = [album.manager.load(album.request(0))]
    try await gate.waitForWaiting(1)
    tasks.append(album.manager.load(album.request(2)))
    var request = album.request(1, .refresh, priority: .low)
    request.decoding.transformer = door.transformer
    let raised = album.manager.load(request)
    try await door.waitForArrival()
    raised.raisePriority(to: .veryHigh)
    door.open()
    var events = raised.events.makeAsyncIterator()
    guard case .preview = await events.next() else {
      Issue.record("there was no preview")
      return
    }
    // The refresh is requested on the thread that reports the preview, before that handles anything else.
    _ = await album.manager.load(ImageRequest(url: album.url(1), cachePolicy: .init(mode: .only))).outcome()
    gate.open()
    for task in tasks + [raised] { _ = try await task.value }
    #expect(album.asked == ["/1.jpg", "/0.jpg", "/1.jpg", "/2.jpg"])
  }

  @Test func `progress starts at zero and ends with the total, and then the events end`() async throws {
    let count = SampleImages.jpeg(1).count
    let task = album.manager.load(album.request(1))
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
    let gate = album.origin.holdAll()
    let task = album.manager.load(album.request(1))
    let images = try await withThrowingTaskGroup(of: ImageResponse.self) { group in
      for _ in 0..<50 { group.addTask { try await task.value } }
      try await gate.waitForWaiting(1)
      gate.open()
      return try await group.reduce(into: []) { $0.append($1.image) }
    }
    #expect(images.count == 50 && images.allSatisfy { $0 == images[0] && $0 != nil })
  }

  @Test func `each consumer of a load's events gets them all`() async throws {
    let gate = album.origin.holdAll()
    let task = album.manager.load(album.request(1))
    let count = { (events: AsyncStream<ImageTask.Event>) in Task { await events.reduce(0) { count, _ in count + 1 } } }
    let early = [count(task.events), count(task.events)]
    gate.open()
    _ = try await task.value
    let (first, second, late) = (await early[0].value, await early[1].value, await count(task.events).value)
    #expect(first > 0 && first == second && first == late)
  }

  @Test(arguments: [CacheMode.refresh, .loaderOnly])
  func `a refresh without a disk cache requests the image`(_ mode: CacheMode) async throws {
    let manager = try ImageManager(ImageManager.Configuration(memory: album.memory, options: .patient()))
    _ = try await manager.load(album.request(1)).value
    #expect(try await manager.load(album.request(1)).value.source == .memory)
    #expect(try await manager.load(album.request(1, mode)).value.source == .network)
    #expect(album.origin.requests.count == 2)
  }
}

/// Cancelling at every moment of a load's life.
@Suite struct ImageTaskCancellingTests {
  private let album = Album.plain()

  @Test func `a task cancelled before its request makes none`() async throws {
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await album.manager.response(for: album.request(1))
    }
    await #expect(throws: ImageLoadError.cancelled) { try await task.value }
    #expect(!album.manager.isRunning)
    await album.manager.shutDown()
    #expect(album.origin.requests.isEmpty)
  }

  @Test func `a task cancelled within its own hook ends once as cancelled`() async throws {
    let hooks = LoadHooks(shouldDownload: { _ in
      withUnsafeCurrentTask { $0?.cancel() }
      return true
    })
    let album = try Album(hooks: hooks)
    let gate = album.origin.holdAll()
    let task = Task { try await album.manager.response(for: album.request(1)) }
    await #expect(throws: ImageLoadError.cancelled) { try await task.value }
    try await poll("no load") { !album.manager.isRunning }
    gate.open()
    #expect(album.cache.path.isEmpty == false && album.memory.count == 0)
  }

  @Test func `a load cancelled right after its start ends at once, and nothing is stored`() async throws {
    let gate = album.origin.holdAll()
    for number in 0..<100 {
      let task = album.manager.load(album.request(number))
      task.cancel()
      #expect(task.isFinished)
      await #expect(throws: ImageLoadError.cancelled) { try await task.value }
    }
    try await poll("no load") { !album.manager.isRunning }
    gate.open()
    #expect(try album.cache.totals().entries == 0)
  }

  @Test(arguments: [false, true])
  func `cancelling one of two loads, or the task that waits for it, leaves the other`(isWaiter: Bool) async throws {
    let gate = album.origin.holdAll()
    let (one, other) = (album.manager.load(album.request(1)), album.manager.load(album.request(1)))
    let waiter = Task { try await one.value.source }
    try await gate.waitForWaiting(1)
    if isWaiter { waiter.cancel() } else { one.cancel() }
    await #expect(throws: ImageLoadError.cancelled) { try await waiter.value }
    #expect(one.isFinished && !other.isFinished)
    gate.open()
    #expect(try await other.value.source == .network)
    #expect(album.asked == ["/1.jpg"])
  }

  @Test func `cancelling the last one stops the transfer, and a new request works`() async throws {
    let gate = album.origin.hold("/1.jpg")
    let tasks = (0..<3).map { _ in album.manager.load(album.request(1)) }
    try await gate.waitForWaiting(1)
    for task in tasks { task.cancel() }
    // The client has left before the response.
    try await album.origin.waitForInFlight(0)
    gate.open()
    #expect(try await album.manager.load(album.request(1)).value.source == .network)
    #expect(album.asked == ["/1.jpg", "/1.jpg"])
    #expect(album.origin.overlaps.isEmpty)
  }

  @Test(arguments: [true, false]) func `a load started during cancel-all isn't cancelled`(everybody: Bool) async throws {
    let door = Door()
    let album = try Album(
      hooks: LoadHooks(shouldBlockFailedURL: { _, _ in
        door.pass()
        return false
      })
    )
    let gate = album.origin.hold("/1.jpg")
    let first = album.manager.load(album.request(1))
    try await gate.waitForWaiting(1)
    // From here on the store thread reports no end.
    let failing = album.manager.load(album.origin.url("/none"))
    try await door.waitForArrival()
    if everybody { album.manager.cancelAll() } else { first.cancel() }
    let second = album.manager.load(album.request(1))
    door.open()
    gate.open()
    #expect(try await second.value.source == .network)
    await #expect(throws: ImageLoadError.cancelled) { try await first.value }
    await #expect(throws: ImageLoadError.self) { try await failing.value }
  }

  @Test func `cancel-all also ends waiters with other rules and starts no new request`() async throws {
    let gate = album.origin.holdAll()
    var request = album.request(1)
    let tasks = [ImageRequest.Decoding.Policy.eager, .never, .lazy].map { time in
      request.decoding.policy = time
      return album.manager.load(request)
    }
    try await gate.waitForWaiting(1)
    album.manager.cancelAll()
    try await album.origin.waitForInFlight(0)
    gate.open()
    for task in tasks { await #expect(throws: ImageLoadError.cancelled) { try await task.value } }
    #expect(!album.manager.isRunning)
    #expect(album.asked == ["/1.jpg"])
  }

  @Test func `a refresh cancelled during its preview makes no request`() async throws {
    let door = Door()
    let task = try await album.refresh(1, heldAt: door)
    task.cancel()
    door.open()
    await #expect(throws: ImageLoadError.cancelled) { try await task.value }
    try await poll("no load") { !album.manager.isRunning }
    #expect(album.asked == ["/1.jpg"])
  }
}
