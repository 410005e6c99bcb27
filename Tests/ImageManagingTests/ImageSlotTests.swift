import ImageCaching
import Base
import TestOrigin
import TestSupport
import Testing

@testable import ImageManaging

/// One image at a time, whatever comes late.
@Suite struct ImageSlotTests {
  private let album = Album.plain()

  /// The image of an update, identified by the number of its bytes.
  private func shown(_ update: ImageSlot.Update?) -> String {
    switch update {
    case .loaded(let response): "loaded \(response.data.map(Self.number) ?? -1)"
    case .preview(let response): "preview \(response.data.map(Self.number) ?? -1)"
    case .failed(let error): "failed \(error)"
    case .cleared: "cleared"
    case nil: "end"
    }
  }

  private static func number(_ data: [UInt8]) -> Int { (0..<100).first { SampleImages.jpeg($0) == data } ?? -1 }

  private func request(_ number: Int, _ album: Album, _ mode: CacheMode = .use) -> ImageRequest {
    var request = album.request(number, mode)
    request.decoding.includesData = true
    return request
  }

  @Test func `a new binding cancels the previous load, and nothing of it is delivered`() async throws {
    let slot = ImageSlot(manager: album.manager)
    let gate = album.origin.hold("/1.jpg")
    let first = slot.bind(request(1, album))
    try await gate.waitForWaiting(1)
    let second = slot.bind(request(2, album))
    #expect(first.isFinished)
    await #expect(throws: ImageLoadError.cancelled) { try await first.value }
    try await album.origin.waitForInFlight(0)
    gate.open()
    var updates = slot.updates.makeAsyncIterator()
    #expect(shown(await updates.next()) == "loaded 2")
    #expect(try await second.value.source == .network)
    slot.clear()
    #expect(shown(await updates.next()) == "cleared")
  }

  @Test func `an untaken image is dropped with its binding`() async throws {
    let slot = ImageSlot(manager: album.manager)
    _ = try await slot.bind(request(1, album)).value
    _ = try await slot.bind(request(2, album)).value
    var updates = slot.updates.makeAsyncIterator()
    #expect(shown(await updates.next()) == "loaded 2")
    _ = try await slot.bind(request(1, album)).value
    slot.clear()
    #expect(shown(await updates.next()) == "cleared")
  }

  @Test func `a clear, an image or the end wakes a waiting consumer`() async throws {
    let slot = ImageSlot(manager: album.manager)
    let taken = Watched<[String]>([])
    let consumer = Task {
      for await update in slot.updates { taken.withLock { $0.append(shown(update)) } }
    }
    slot.clear()
    try await taken.wait(for: "the clear") { $0 == ["cleared"] }
    slot.bind(request(1, album))
    try await taken.wait(for: "the image") { $0.last == "loaded 1" }
    slot.bind(album.origin.url("/none"))
    try await taken.wait(for: "the failure") { $0.last?.hasPrefix("failed") == true }
    consumer.cancel()
    await consumer.value
    slot.bind(request(2, album))
    var next = slot.updates.makeAsyncIterator()
    #expect(shown(await next.next()) == "loaded 2")
    #expect(taken.value.count == 3)
  }

  @Test func `a refresh shows its preview first, and then the network's result`() async throws {
    _ = try await album.manager.load(album.request(1)).value
    let slot = ImageSlot(manager: album.manager)
    let gate = album.origin.hold("/1.jpg")
    slot.bind(request(1, album, .refresh))
    var updates = slot.updates.makeAsyncIterator()
    #expect(shown(await updates.next()) == "preview 1")
    // The request at the gate is already decided.
    try await gate.waitForWaiting(1)
    album.origin.set("/1.jpg", .body(SampleImages.jpeg(2), type: "image/jpeg"))
    gate.open()
    #expect(shown(await updates.next()) == "loaded 1")
    slot.bind(request(1, album, .refresh))
    #expect(shown(await updates.next()) == "preview 1")
    #expect(shown(await updates.next()) == "loaded 2")
  }

  @Test func `a released slot cancels its load`() async throws {
    let gate = album.origin.holdAll()
    var slot: ImageSlot? = ImageSlot(manager: album.manager)
    let task = slot?.bind(album.request(1))
    try await gate.waitForWaiting(1)
    slot = nil
    await #expect(throws: ImageLoadError.cancelled) { try await task?.value }
    try await album.origin.waitForInFlight(0)
    gate.open()
  }

  @Test(arguments: [UInt64(20_261_121), 7])
  func `only the last binding is delivered, whatever the order of responses`(seed: UInt64) async throws {
    var random = SeededRandom(seed: seed)
    let album = try Album(concurrency: 16)
    let slot = ImageSlot(manager: album.manager)
    var updates = slot.updates.makeAsyncIterator()
    for round in 0..<40 {
      let gates = (0..<4).map { album.origin.hold("/\($0).jpg") }
      for number in 0..<4 { try await album.manager.remove(album.url(number)) }
      // Loads of others complete, whether bound or not.
      var others: [ImageTask] = []
      let last = Int.random(in: 0..<4, using: &random)
      for number in (0..<Int.random(in: 1...6, using: &random)).map({ _ in Int.random(in: 0..<4, using: &random) }) + [last] {
        slot.bind(request(number, album))
        if Bool.random(using: &random) { others.append(album.manager.load(request(number, album))) }
      }
      for gate in gates.shuffled(using: &random) { gate.open() }
      #expect(shown(await updates.next()) == "loaded \(last)", "round \(round), seed \(seed)")
      for task in others { _ = try await task.value }
      slot.clear()
      #expect(shown(await updates.next()) == "cleared", "round \(round), seed \(seed)")
    }
  }
}
