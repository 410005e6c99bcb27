import Foundation
import Glibc
import ImageCaching
import ImageCoding
import ImageDownloading
import Base
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
    var gallery: Gallery? = try Gallery(
      transformer: ClosureTransformer(key: "note") { image in
        threads.note()
        return image
      },
      hooks: LoadHooks(shouldBlockFailedURL: { _, _ in
        threads.note()
        return true
      }),
      options: .patient(
        responseModifier: ResponseModifier(name: "note") { response in
          threads.note()
          return response
        }
      )
    )
    let (origin, folder) = (gallery!.origin, gallery!.folder)
    let gate = origin.holdAll()
    var tasks: [ImageTask]? = (0..<20).map { gallery!.manager.load(gallery!.request($0)) }
    tasks!.append(gallery!.manager.load(origin.url("/none")))
    try await gate.waitForWaiting(6)
    gallery = nil
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
    let isShutDown = Watched(false)
    // It blocks until the door is open, so it needs a thread of its own.
    Thread.detachNewThread {
      gallery.manager.shutDown()
      isShutDown.withLock { $0 = true }
    }
    try await poll("the shutdown to begin") { gallery.manager.isClosed }
    door.open()
    try await isShutDown.wait(for: "the end of the shutdown") { $0 }
    await #expect(throws: ImageLoadError.shutDown) { try await task.value }
    #expect(gallery.asked == ["/1.jpg"])
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
      do { _ = try box.manager?.isCached(url) } catch { Issue.record(error) }
    }
    let gallery = try Gallery(
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
    box.manager = gallery.manager
    #expect(try await gallery.manager.load(gallery.request(1)).value.source == .network)
    await #expect(throws: ImageLoadError.self) { try await gallery.manager.load(gallery.origin.url("/none")).value }
    for task in asked.withLock({ $0 }) { _ = await task.outcome() }
    #expect(asked.withLock { $0.count } >= 4)
    box.manager = nil
  }

  @Test func `a hook may cancel all loads, including others than its own`() async throws {
    let box = ManagerBox()
    let gallery = try Gallery(
      hooks: LoadHooks(shouldDownload: { url in
        if url.hasSuffix("/9.jpg") { box.manager?.cancelAll() }
        return true
      })
    )
    box.manager = gallery.manager
    let gate = gallery.origin.holdAll()
    let tasks = (0..<5).map { gallery.manager.load(gallery.request($0)) }
    let last = gallery.manager.load(gallery.request(9))
    gate.open()
    for task in tasks { await #expect(throws: ImageLoadError.cancelled) { try await task.value } }
    #expect(try await last.value.source == .network)
    box.manager = nil
  }
}
