import ImageCaching
import ImageCoding
import ImageDownloading
import Base
import TestOrigin
import TestSupport
import Testing

@testable import ImageManaging

/// Cancelling at every moment of a load's life.
@Suite struct ImageTaskCancellingTests {
  @Test func `a task cancelled before its request makes none`() async throws {
    let gallery = try Gallery()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await gallery.manager.response(for: gallery.request(1))
    }
    await #expect(throws: ImageLoadError.cancelled) { try await task.value }
    #expect(!gallery.manager.isRunning)
    await gallery.manager.shutDown()
    #expect(gallery.origin.requests.isEmpty)
  }

  @Test func `a task cancelled within its own hook ends once as cancelled`() async throws {
    let hooks = LoadHooks(shouldDownload: { _ in
      withUnsafeCurrentTask { $0?.cancel() }
      return true
    })
    let gallery = try Gallery(hooks: hooks)
    let gate = gallery.origin.holdAll()
    let task = Task { try await gallery.manager.response(for: gallery.request(1)) }
    await #expect(throws: ImageLoadError.cancelled) { try await task.value }
    try await poll("no load") { !gallery.manager.isRunning }
    gate.open()
    #expect(gallery.cache.path.isEmpty == false && gallery.memory.count == 0)
  }

  @Test func `a load cancelled right after its start ends at once, and nothing is stored`() async throws {
    let gallery = try Gallery()
    let gate = gallery.origin.holdAll()
    for number in 0..<100 {
      let task = gallery.manager.load(gallery.request(number))
      task.cancel()
      #expect(task.isFinished)
      await #expect(throws: ImageLoadError.cancelled) { try await task.value }
    }
    try await poll("no load") { !gallery.manager.isRunning }
    gate.open()
    #expect(try gallery.cache.totals().entries == 0)
  }

  @Test func `cancelling one of two leaves the other`() async throws {
    let gallery = try Gallery()
    let gate = gallery.origin.holdAll()
    let (one, other) = (gallery.manager.load(gallery.request(1)), gallery.manager.load(gallery.request(1)))
    try await gate.waitForWaiting(1)
    one.cancel()
    #expect(one.isFinished && !other.isFinished)
    await #expect(throws: ImageLoadError.cancelled) { try await one.value }
    gate.open()
    #expect(try await other.value.source == .network)
    #expect(gallery.asked == ["/1.jpg"])
  }

  @Test func `cancelling the last one stops the transfer, and a new request works`() async throws {
    let gallery = try Gallery()
    let gate = gallery.origin.hold("/1.jpg")
    let tasks = (0..<3).map { _ in gallery.manager.load(gallery.request(1)) }
    try await gate.waitForWaiting(1)
    for task in tasks { task.cancel() }
    // The client has left before the response.
    try await gallery.origin.waitForInFlight(0)
    gate.open()
    #expect(try await gallery.manager.load(gallery.request(1)).value.source == .network)
    #expect(gallery.asked == ["/1.jpg", "/1.jpg"])
    #expect(gallery.origin.overlaps.isEmpty)
  }

  @Test(arguments: [true, false]) func `a load started during cancel-all isn't cancelled`(everybody: Bool) async throws {
    let door = Door()
    let gallery = try Gallery(
      hooks: LoadHooks(shouldBlockFailedURL: { _, _ in
        door.pass()
        return false
      })
    )
    let gate = gallery.origin.hold("/1.jpg")
    let first = gallery.manager.load(gallery.request(1))
    try await gate.waitForWaiting(1)
    // From here on the store thread reports no end.
    let failing = gallery.manager.load(gallery.origin.url("/none"))
    try await door.waitForArrival()
    if everybody { gallery.manager.cancelAll() } else { first.cancel() }
    let second = gallery.manager.load(gallery.request(1))
    door.open()
    gate.open()
    #expect(try await second.value.source == .network)
    await #expect(throws: ImageLoadError.cancelled) { try await first.value }
    await #expect(throws: ImageLoadError.self) { try await failing.value }
  }

  @Test func `cancel-all also ends waiters with other rules and starts no new request`() async throws {
    let gallery = try Gallery()
    let gate = gallery.origin.holdAll()
    var request = gallery.request(1)
    let tasks = [ImageRequest.Decoding.Policy.eager, .never, .lazy].map { time in
      request.decoding.policy = time
      return gallery.manager.load(request)
    }
    try await gate.waitForWaiting(1)
    gallery.manager.cancelAll()
    try await gallery.origin.waitForInFlight(0)
    gate.open()
    for task in tasks { await #expect(throws: ImageLoadError.cancelled) { try await task.value } }
    #expect(!gallery.manager.isRunning)
    #expect(gallery.asked == ["/1.jpg"])
  }

  @Test func `a refresh cancelled during its preview makes no request`() async throws {
    let door = Door()
    let gallery = try Gallery()
    _ = try await gallery.manager.load(gallery.request(1)).value
    gallery.memory.removeAll()
    var request = gallery.request(1, .refresh)
    request.decoding.transformer = ClosureTransformer(key: "door") { image in
      door.pass()
      return image
    }
    let task = gallery.manager.load(request)
    try await door.waitForArrival()
    task.cancel()
    door.open()
    await #expect(throws: ImageLoadError.cancelled) { try await task.value }
    try await poll("no load") { !gallery.manager.isRunning }
    #expect(gallery.asked == ["/1.jpg"])
  }
}
