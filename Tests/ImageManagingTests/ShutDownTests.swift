import Foundation
import ImageCaching
import ImageCoding
import ImageDownloading
import Base
import TestOrigin
import TestSupport
import Testing

@testable import ImageManaging

/// Shutting down a manager, on any thread and during any load.
@Suite struct ShutDownTests {
  /// The callbacks that shut down a manager.
  enum Callback: Int, CaseIterable {
    case completion, transformer, hookOfTheCaller, hookOfTheTransfer
  }

  @Test(arguments: Callback.allCases) func `a manager that is shut down by its own callback traps`(_ callback: Callback)
    async throws
  {
    let ended = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      [callback = callback.rawValue as Int] in
      let box = ManagerBox()
      let returned = Watched(false)
      let shutDown: @Sendable (Callback) -> Void = { here in
        guard here.rawValue == callback else { return }
        box.manager?.shutDown()
        returned.withLock { $0 = true }
      }
      let gallery = try Gallery(
        transformer: ClosureTransformer(key: "end") { image in
          shutDown(.transformer)
          return image
        },
        hooks: LoadHooks(shouldDownload: { _ in
          shutDown(.hookOfTheCaller)
          return true
        }),
        options: .patient(
          requestModifier: RequestModifier(name: "end") { request in
            shutDown(.hookOfTheTransfer)
            return request
          }
        )
      )
      box.manager = gallery.manager
      let gate = gallery.origin.hold("/1.jpg")
      let task = gallery.manager.load(gallery.request(1))
      task.whenFinished { _ in shutDown(.completion) }
      gate.open()
      _ = try? await task.value
      try await returned.wait(for: "the shutdown to return") { $0 }
      exit(EXIT_SUCCESS)
    }
    let said = String(decoding: ended?.standardErrorContent ?? [], as: UTF8.self)
    #expect(said.contains("can't be shut down in one of its callbacks"))
  }

  @Test func `a manager that is shut down by a callback of a load inside its own load traps`() async {
    let ended = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let outer = ManagerBox()
      let inner = try Gallery(
        hooks: LoadHooks(shouldDownload: { _ in
          outer.manager?.shutDown()
          return true
        })
      )
      let gallery = try Gallery(
        hooks: LoadHooks(shouldDownload: { _ in
          _ = inner.manager.load(inner.request(1))
          return true
        })
      )
      outer.manager = gallery.manager
      _ = try? await gallery.manager.load(gallery.request(1)).value
      exit(EXIT_SUCCESS)
    }
    let said = String(decoding: ended?.standardErrorContent ?? [], as: UTF8.self)
    #expect(said.contains("can't be shut down in one of its callbacks"))
  }

  @Test(arguments: [false, true]) func `a load being looked up during shutdown ends as shut down`(isCached: Bool) async throws {
    let door = Door()
    let isShut = Watched(false)
    let gallery = try Gallery(
      hooks: LoadHooks(cacheKeyFilter: { url in
        if isShut.value { door.pass() }
        return url
      })
    )
    if isCached { _ = try await gallery.manager.image(for: gallery.url(1)) }
    gallery.memory.removeAll()
    // The network doesn't respond, so that it isn't faster than the shutdown.
    let gate = gallery.origin.holdAll()
    isShut.withLock { $0 = true }
    let manager = gallery.manager
    let request = gallery.request(1)
    let task = Watched<ImageTask?>(nil)
    Thread.detachNewThread {
      let load = manager.load(request)
      task.withLock { $0 = load }
    }
    try await door.waitForArrival()
    let isShutDown = Watched(false)
    Thread.detachNewThread {
      manager.shutDown()
      isShutDown.withLock { $0 = true }
    }
    try await poll("the shutdown to begin") { manager.isClosed }
    // Another load that starts now ends at once.
    let late = manager.load(request)
    #expect(late.isFinished)
    await #expect(throws: ImageLoadError.shutDown) { try await late.value }
    door.open()
    try await isShutDown.wait(for: "the end") { $0 }
    try await task.wait(for: "the load") { $0 != nil }
    // A cached image that was already read completes.
    switch await task.value?.outcome() {
    case .success(let response): #expect(isCached && response.source == .disk)
    case .failure(let error): #expect(error == .shutDown)
    case nil: Issue.record("no load")
    }
    gate.open()
    #expect(!manager.isRunning)
  }

  @Test func `loads during shutdown each end`() async throws {
    for round in 0..<20 {
      let album = try Album()
      let started = Watched(0)
      let manager = album.manager
      let url = album.url("/a.jpg")
      async let isClosed: Void = {
        try await started.wait(for: "some loads") { $0 >= round % 5 }
        manager.dispatcher.close()
      }()
      var tasks: [ImageTask] = []
      for _ in 0..<8 {
        started.withLock { $0 += 1 }
        tasks.append(manager.load(url))
      }
      try await isClosed
      for task in tasks { _ = await task.outcome() }
      await manager.shutDown()
      #expect(!manager.isRunning)
    }
  }

  @Test(arguments: [false, true])
  func `a load after a shutdown throws that it was shut down, and requests nothing`(isCached: Bool) async throws {
    let gallery = try Gallery()
    if isCached { _ = try await gallery.manager.image(for: gallery.url(1)) }
    await gallery.manager.shutDown()
    let requested = gallery.asked
    await #expect(throws: ImageLoadError.shutDown) { try await gallery.manager.image(for: gallery.url(1)) }
    #expect(gallery.asked == requested)
  }

  @Test func `a load that a shutdown cuts off throws that it was shut down`() async throws {
    let gallery = try Gallery()
    let gate = gallery.origin.hold("/1.jpg")
    let task = gallery.manager.load(gallery.request(1))
    try await gate.waitForWaiting(1)
    await gallery.manager.shutDown()
    await #expect(throws: ImageLoadError.shutDown) { try await task.value }
    gate.open()
  }

  @Test func `an asynchronous shutdown of any number of tasks returns when all loads have ended`() async throws {
    let gallery = try Gallery()
    let gate = gallery.origin.holdAll()
    let loads = (0..<10).map { gallery.manager.load(gallery.request($0)) }
    await withTaskGroup { group in
      for _ in 0..<4 {
        group.addTask {
          await gallery.manager.shutDown()
          #expect(loads.allSatisfy(\.isFinished) && !gallery.manager.isRunning)
        }
      }
    }
    gate.open()
  }

  @Test func `loads after a shutdown of a shared downloader throw that it was shut down`() async throws {
    let downloader = try ImageDownloader()
    let origin = try Origin()
    let manager = try ImageManager(ImageManager.Configuration(sharedDownloader: downloader))
    await downloader.shutDown()
    await #expect(throws: ImageLoadError.shutDown) { try await manager.image(for: origin.url("/1.jpg")) }
    #expect(origin.requests.isEmpty)
    await manager.shutDown()
  }
}
