import Base
import ImageDownloading
import TestOrigin
import TestSupport
import Testing

/// Progress events and metrics.
struct ProgressTests {
  /// Events as short texts, without the bytes of chunks.
  private func texts(_ events: [DownloadEvent], of id: UInt64 = 1) -> [String] {
    events.filter { $0.id == id }.compactMap { event in
      switch event {
      case .started: "started"
      case .response(_, let head): "response \(head.status)"
      case .progress(_, let received, let expected): "\(received) of \(expected.map(String.init) ?? "?")"
      case .chunk: nil
      case .retrying(_, let failure, let delay): "retrying \(failure.kind.name) after \(delay)"
      case .restarted: "restarted"
      case .finished: "finished"
      case .notModified: "not modified"
      case .failed: "failed"
      case .cancelled: "cancelled"
      }
    }
  }

  private func download(_ id: UInt64, _ url: String, interval: Duration = .zero, options: DownloadOptions = .forTests())
    -> Download
  {
    Download(id, url, options: options, wantsProgress: true, progressInterval: interval)
  }

  private func run(_ behaviour: Behaviour, interval: Duration = .zero, options: DownloadOptions = .forTests()) async throws
    -> [String]
  {
    let origin = try Origin(["/a": behaviour])
    let fetcher = try Fetcher(time: ManualClock().source)
    fetcher.client.submit([download(1, origin.url("/a"), interval: interval, options: options)])
    _ = try await fetcher.recorder.waitForEnds(1)
    return texts(fetcher.recorder.events)
  }

  @Test func `progress reports start, response, zero, total and end; an unknown length is reported as unknown`() async throws {
    // The clock doesn't advance, so nothing is due between the first and the last report.
    #expect(
      try await run(.body([1, 2, 3]), interval: .seconds(1)) == ["started", "response 200", "0 of 3", "3 of 3", "finished"]
    )
    #expect(
      try await run(.chunked([[1, 2], [3]]), interval: .seconds(1)) == [
        "started", "response 200", "0 of ?", "3 of 3", "finished",
      ]
    )
    #expect(try await run(.body([]), interval: .seconds(1)) == ["started", "response 200", "0 of 0", "finished"])
    let large = try await run(.body(pattern(900_000)), interval: .seconds(1))
    #expect(large == ["started", "response 200", "0 of 900000", "900000 of 900000", "finished"])
  }

  @Test func `without an interval every step is reported, increasing, the last one once`() async throws {
    let gate = Gate()
    let origin = try Origin(["/a": .slow([1, 2, 3, 4], gate)])
    let fetcher = try Fetcher()
    fetcher.client.submit([download(1, origin.url("/a"))])
    for count in 1...4 {
      gate.step()
      try await fetcher.recorder.waitForEvent { if case .progress(_, count, 4) = $0 { true } else { false } }
    }
    _ = try await fetcher.recorder.waitForEnds(1)
    let expected = ["started", "response 200", "0 of 4", "1 of 4", "2 of 4", "3 of 4", "4 of 4", "finished"]
    #expect(texts(fetcher.recorder.events) == expected)
  }

  @Test func `reports are at least the interval apart`() async throws {
    let clock = ManualClock()
    let gate = Gate()
    let origin = try Origin(["/a": .slow([1, 2, 3, 4], gate), "/b": .body([1])])
    let fetcher = try Fetcher(time: clock.source)
    fetcher.client.submit([
      download(1, origin.url("/a"), interval: .seconds(2)), download(2, origin.url("/a"), interval: .seconds(1)),
    ])
    for count in 1...4 {
      clock.advance(by: .seconds(1))
      gate.step()
      // The first byte's report has 0.
      let reported = count == 1 ? 0 : count
      try await fetcher.recorder.waitForEvent { if case .progress(2, reported, 4) = $0 { true } else { false } }
    }
    _ = try await fetcher.recorder.waitForEnds(2)
    let events = texts(fetcher.recorder.events)
    #expect(events.first == "started" && events.last == "finished" && events.contains("4 of 4"))
    let reported = events.filter { $0.hasSuffix(" of 4") }
    // After the first byte every second report is due for an interval of two seconds.
    #expect(reported == ["0 of 4", "3 of 4", "4 of 4"])
  }

  @Test func `a rejected response reports status and headers, and no progress beyond 0`() async throws {
    #expect(try await run(.status(404, body: [1, 2])) == ["started", "response 404", "0 of ?", "failed"])
    #expect(try await run(.close) == ["started", "failed"])
  }

  @Test func `a retry reports its own response, and redirects report none`() async throws {
    let retried = try await run(.sequence([.status(503), .body([1])]), options: .forTests(retries: 1))
    let wait = "retrying http-status after 0.0 seconds"
    #expect(retried == ["started", "response 503", "0 of ?", wait, "response 200", "0 of 1", "1 of 1", "finished"])
    let origin = try Origin(["/a": .redirect(to: "/b"), "/b": .body([1])])
    let fetcher = try Fetcher()
    _ = try await fetcher.fetch(origin.url("/a"), wantsProgress: true)
    #expect(texts(fetcher.recorder.events) == ["started", "response 200", "0 of 1", "1 of 1", "finished"])
  }

  @Test func `a waiter without progress gets no reports, and a later one gets them from then on`() async throws {
    let gate = Gate()
    let origin = try Origin(["/a": .slow([1, 2, 3], gate)])
    let fetcher = try Fetcher()
    fetcher.submit([origin.url("/a")])
    gate.step()
    try await origin.waitForRequests(1)
    fetcher.client.submit([download(2, origin.url("/a"), interval: .seconds(99))])
    try await fetcher.recorder.waitForEvent { if case .started(2) = $0 { true } else { false } }
    gate.step(2)
    _ = try await fetcher.recorder.waitForEnds(2)
    #expect(texts(fetcher.recorder.events, of: 1) == ["finished"])
    #expect(texts(fetcher.recorder.events, of: 2) == ["started", "response 200", "0 of 3", "3 of 3", "finished"])
  }

  @Test func `metrics and the response head are reported on request`() async throws {
    let origin = try Origin(["/a": .redirect(to: "/b"), "/b": .body(pattern(1000), headers: ["X-A": "1", "X-A": "2"])])
    let fetcher = try Fetcher()
    for _ in 1...2 {
      let summary = try await fetcher.fetch(origin.url("/a"), wantsDetails: true).summary
      let metrics = try #require(summary.metrics)
      #expect(metrics.receivedBytes == 1000 && metrics.redirects == 1 && metrics.protocolName == "HTTP/1.1")
      #expect(metrics.remoteAddress == "127.0.0.1" && metrics.remotePort == origin.port)
      #expect(metrics.firstByte > .zero && metrics.firstByte <= metrics.total && metrics.tls == .zero)
      // The first hop's connection is reused for the second.
      #expect(metrics.reusedConnection)
      #expect(summary.response?.status == 200)
      #expect(summary.response?.headers.filter { $0.name == "X-A" }.map(\.value) == ["1", "2"])
    }
    #expect(try await fetcher.fetch(origin.url("/b")).summary.response == nil)
  }

  @Test func `a new connection is reported as new, even if it fails`() async throws {
    let origin = try Origin(["/a": .body([1])])
    let fetcher = try Fetcher()
    let metrics = try #require(try await fetcher.fetch(origin.url("/a"), wantsDetails: true).metrics)
    #expect(!metrics.reusedConnection && metrics.connect > .zero)
    origin.stop()
    let failed = try await fetcher.fetch(origin.url("/a"), wantsDetails: true).summary
    #expect(failed.response == nil)
    #expect(failed.metrics?.protocolName == nil && failed.metrics?.reusedConnection == false)
  }

  @Test func `a rejected response's failure has its status and headers`() async throws {
    let origin = try Origin(["/a": .status(403, headers: ["X-Why": "no"])])
    let response = try #require(try await Fetcher().fetch(origin.url("/a"), wantsDetails: true).summary.response)
    #expect(response.status == 403 && response.headers.value(of: "x-why") == "no")
  }
}

/// Bodies: small ones whole, large ones in chunks.
struct StreamingTests {
  private func chunks(_ events: [DownloadEvent]) -> [(attempt: Int, bytes: [UInt8])] {
    events.compactMap { event in
      guard case .chunk(_, let attempt, let bytes) = event else { return nil }
      return (attempt, bytes)
    }
  }

  @Test(arguments: [0, 1, 999, 1000, 1001, 300_000, 1_000_000])
  func `a body up to streamAbove arrives whole, and a larger one in chunks`(count: Int) async throws {
    let body = pattern(count)
    for behaviour in [Behaviour.body(body), .noLength(body), .chunked(body.isEmpty ? [] : [body])] {
      let origin = try Origin(["/a": behaviour])
      let fetcher = try Fetcher()
      let image = try #require(try await fetcher.fetch(origin.url("/a"), options: .forTests(streamAbove: 1000)).image)
      #expect(image.bodyBytes == count && image.wasStreamed == (count > 1000))
      let chunks = chunks(fetcher.recorder.events)
      #expect(image.body == (count > 1000 ? [] : body))
      #expect(chunks.flatMap(\.bytes) == (count > 1000 ? body : []))
      #expect(chunks.allSatisfy { !$0.bytes.isEmpty && $0.bytes.count < 512 << 10 })
      #expect(image.summary.receivedBytes >= UInt64(count))
    }
  }

  @Test func `chunks of a truncated body are void and arrive again`() async throws {
    let body = pattern(900_000)
    let origin = try Origin(["/a": .sequence([.cut(afterBytes: 600_000, declared: 900_000, of: body), .body(body)])])
    let fetcher = try Fetcher()
    let end = try await fetcher.fetch(origin.url("/a"), options: .forTests(retries: 1))
    #expect(end.image?.wasStreamed == true && end.summary.attempts == 2 && end.summary.receivedBytes == 1_500_000)

    let events = fetcher.recorder.events
    let restart = try #require(events.firstIndex { if case .restarted = $0 { true } else { false } })
    let before = chunks(Array(events[..<restart]))
    let after = chunks(Array(events[restart...]))
    #expect(!before.isEmpty && before.allSatisfy { $0.attempt == 1 })
    #expect(after.allSatisfy { $0.attempt == 2 })
    #expect(after.flatMap(\.bytes) == body)
    #expect(try await fetch(.cut(afterBytes: 600_000, declared: 900_000)).end.failure?.kind == .truncated)
  }
}
