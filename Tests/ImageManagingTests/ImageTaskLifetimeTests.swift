import Base
import Foundation
import Glibc
import ImageCaching
import ImageCoding
import ImageDownloading
import Synchronization
import TestOrigin
import TestSupport
import Testing

@testable import ImageManaging

/// What loads and their manager leave behind, and what a manager's own hooks may do with it.
@Suite struct ImageTaskLifetimeTests {
  /// The manager's threads, as its user's code sees them.
  private final class Threads: Sendable {
    private let paths = Mutex<Set<String>>([])
    func note() { _ = paths.withLock { $0.insert("/proc/" + linkTarget("/proc/thread-self")) } }
    var count: Int { paths.withLock { $0.count } }
    var areGone: Bool { paths.withLock { $0.allSatisfy { access($0, F_OK) != 0 } } }
  }

  @Test func `a manager released during loads ends them first and then its threads`() async throws {
    let threads = Threads()
    var album: Album? = try Album(
      transformer: ClosureTransformer(key: "note") { image in
        threads.note()
        return image
      },
      hooks: LoadHooks(shouldBlockFailedURL: { _, _ in
        threads.note()
        return true
      }),
      options: .patient {
        $0.responseModifier = ResponseModifier(name: "note") { response in
          threads.note()
          return response
        }
      }
    )
    let (origin, folder) = (album!.origin, album!.folder)
    let gate = origin.holdAll()
    var tasks: [ImageTask]? = (0..<20).map { album!.manager.load(album!.request($0)) }
    tasks!.append(album!.manager.load(origin.url("/none")))
    try await gate.waitForWaiting(6)
    album = nil
    gate.open()
    for task in tasks!.dropLast() { #expect(try await task.value.source == .network) }
    await #expect(throws: ImageLoadError.self) { try await tasks!.last!.value }
    tasks = nil
    try await origin.waitForOpenConnections(0)
    #expect(threads.count >= 3)
    try await poll("the end of the threads") { threads.areGone }
    try await poll("the files to be closed") { try descriptors(below: folder.path).isEmpty }
  }

  @Test func `shutdown between the steps of a refresh cancels it`() async throws {
    let door = Door()
    let album = try Album()
    let task = try await album.refresh(1, heldAt: door)
    let isShutDown = try await shutDownElsewhere(album.manager)
    door.open()
    try await isShutDown.wait(for: "the end of the shutdown") { $0 }
    await #expect(throws: ImageLoadError.shutDown) { try await task.value }
    #expect(album.asked == ["/1.jpg"])
  }

  @Test func `hooks and transformers may call the manager`() async throws {
    let box = ManagerBox()
    let asked = Mutex<[ImageTask]>([])
    let callBack: @Sendable (String) -> Void = { url in
      guard let manager = box.manager, !url.hasSuffix("?again") else { return }
      _ = manager.isRunning
      let task = manager.load(url + "?again")
      asked.withLock { $0.append(task) }
    }
    let isCached: @Sendable (String) -> Void = { url in
      do { _ = try box.manager?.blocking.isCached(url) } catch { Issue.record(error) }
    }
    let album = try Album(
      hooks: LoadHooks(
        shouldDownload: { url in
          callBack(url)
          isCached(url)
          return true
        },
        shouldBlockFailedURL: { url, _ in
          callBack(url)
          isCached(url)
          return true
        },
        cacheKeyFilter: { url in
          // This filter is called for look-ups too, so only this URL may call back.
          callBack(url)
          return url
        },
        cacheSerializer: { url, _, data in
          callBack(url)
          isCached(url)
          return data
        }
      )
    )
    box.manager = album.manager
    #expect(try await album.manager.load(album.request(1)).value.source == .network)
    await #expect(throws: ImageLoadError.self) { try await album.manager.load(album.origin.url("/none")).value }
    for task in asked.withLock({ $0 }) { _ = await task.outcome() }
    #expect(asked.withLock { $0.count } >= 4)
    box.manager = nil
  }

  @Test func `a hook may cancel all loads, including others than its own`() async throws {
    let box = ManagerBox()
    let album = try Album(
      hooks: LoadHooks(shouldDownload: { url in
        if url.hasSuffix("/9.jpg") { box.manager?.cancelAll() }
        return true
      })
    )
    box.manager = album.manager
    let gate = album.origin.holdAll()
    let tasks = (0..<5).map { album.manager.load(album.request($0)) }
    let last = album.manager.load(album.request(9))
    gate.open()
    for task in tasks { await #expect(throws: ImageLoadError.cancelled) { try await task.value } }
    #expect(try await last.value.source == .network)
    box.manager = nil
  }
}

/// Begins a shutdown, which blocks, on a thread of its own; returns a value that is true once it has ended.
private func shutDownElsewhere(_ manager: ImageManager) async throws -> Watched<Bool> {
  let isShutDown = Watched(false)
  Thread.detachNewThread {
    manager.blocking.shutDown()
    isShutDown.withLock { $0 = true }
  }
  try await poll("the shutdown to begin") { manager.isShutDown }
  return isShutDown
}

/// Shutting down a manager, on any thread and during any load.
@Suite struct ShutDownTests {
  private let album = Album.plain()

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
        box.manager?.blocking.shutDown()
        returned.withLock { $0 = true }
      }
      let album = try Album(
        transformer: ClosureTransformer(key: "end") { image in
          shutDown(.transformer)
          return image
        },
        hooks: LoadHooks(shouldDownload: { _ in
          shutDown(.hookOfTheCaller)
          return true
        }),
        options: .patient {
          $0.requestModifier = RequestModifier(name: "end") { request in
            shutDown(.hookOfTheTransfer)
            return request
          }
        }
      )
      box.manager = album.manager
      let gate = album.origin.hold("/1.jpg")
      let task = album.manager.load(album.request(1))
      task.outcome.whenSet { _ in shutDown(.completion) }
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
      let inner = try Album(
        hooks: LoadHooks(shouldDownload: { _ in
          outer.manager?.blocking.shutDown()
          return true
        })
      )
      let album = try Album(
        hooks: LoadHooks(shouldDownload: { _ in
          _ = inner.manager.load(inner.request(1))
          return true
        })
      )
      outer.manager = album.manager
      _ = try? await album.manager.load(album.request(1)).value
      exit(EXIT_SUCCESS)
    }
    let said = String(decoding: ended?.standardErrorContent ?? [], as: UTF8.self)
    #expect(said.contains("can't be shut down in one of its callbacks"))
  }

  @Test(arguments: [false, true]) func `a load being looked up during shutdown ends as shut down`(isCached: Bool) async throws {
    let door = Door()
    let isShut = Watched(false)
    let album = try Album(
      hooks: LoadHooks(cacheKeyFilter: { url in
        if isShut.value { door.pass() }
        return url
      })
    )
    if isCached { _ = try await album.manager.image(for: album.url(1)) }
    album.memory.removeAll()
    // The network doesn't respond, so that it isn't faster than the shutdown.
    let gate = album.origin.holdAll()
    isShut.withLock { $0 = true }
    let manager = album.manager
    let request = album.request(1)
    let task = Watched<ImageTask?>(nil)
    Thread.detachNewThread {
      let load = manager.load(request)
      task.withLock { $0 = load }
    }
    try await door.waitForArrival()
    let isShutDown = try await shutDownElsewhere(manager)
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
    if isCached { _ = try await album.manager.image(for: album.url(1)) }
    await album.manager.shutDown()
    let requested = album.asked
    await #expect(throws: ImageLoadError.shutDown) { try await album.manager.image(for: album.url(1)) }
    #expect(album.asked == requested)
  }

  @Test func `an asynchronous shutdown of any number of tasks returns when all loads have ended as shut down`() async throws {
    let gate = album.origin.holdAll()
    let loads = (0..<10).map { album.manager.load(album.request($0)) }
    await withTaskGroup { group in
      for _ in 0..<4 {
        group.addTask {
          await album.manager.shutDown()
          #expect(loads.allSatisfy(\.isFinished) && !album.manager.isRunning)
        }
      }
    }
    for load in loads { await #expect(throws: ImageLoadError.shutDown) { try await load.value } }
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
