import ImageDownloading
import Base
import TestOrigin
import TestSupport
import Testing

/// Streams that share connections, and servers that end them.
struct HTTP2Tests {
  private let certificates: Certificates

  init() async throws { certificates = try await Certificates() }

  private func options(retries: Int = 0, stallTimeout: Duration = .seconds(15)) -> DownloadOptions {
    .forTests(connection: .with(.http2, caFile: certificates.authority), stallTimeout: stallTimeout, retries: retries)
  }

  @Test(arguments: [(DownloadOptions.HTTPVersion.automatic, 1), (.http2, 1), (.automatic, 4)])
  func `all requests to a host share one connection of one thread, and bodies of all sizes arrive whole`(
    version: DownloadOptions.HTTPVersion,
    threads: Int
  ) async throws {
    let folder = TemporaryDirectory()
    let sizes = [0, 1, 16_384, 65_535, 131_073, 1 << 20, 3 << 20] + (1...300).map { $0 * 97 }
    for (number, size) in sizes.enumerated() { folder.write(pattern(size), to: "\(number + 1)") }
    let nginx = try await Nginx(serving: folder.path, tls: .init(certificates))
    let fetcher = try Fetcher(concurrency: 32, perHost: 32, threads: threads)
    let options = DownloadOptions.forTests(connection: .with(version, caFile: certificates.authority))
    let ends = try await fetcher.fetchAll(sizes.indices.map { nginx.url("/\($0 + 1)") }, options: options)
    for end in ends { #expect(fetcher.recorder.body(of: end) == pattern(sizes[Int(end.id) - 1])) }
    #expect(fetcher.downloader.statistics.openedConnections == 1)
  }

  @Test func `without TLS, HTTP/2 is used with prior knowledge, never on a connection of another version`() async throws {
    let origin = HTTP2Origin { HTTP2Origin.Frame.answer($0.stream, [7]) }
    let fetcher = try Fetcher(concurrency: 8)
    let known = DownloadOptions.forTests(connection: .with(.http2))
    fetcher.submit((1...20).map { origin.url("/\($0)") }, options: known)
    #expect(try await fetcher.recorder.waitForEnds(20).allSatisfy { $0.image?.body == [7] })
    let plain = try Origin(fallback: .body([8]))
    let ends = try await fetcher.fetchInTurn([.forTests(), known, .forTests()].map { (plain.url("/a"), $0) })
    #expect(ends.map { $0.image?.body } == [[8], nil, [8]])
    #expect(ends.map { $0.failure?.kind } == [nil, .connect, nil], "\(ends[1].failure?.message ?? "")")
  }

  @Test(arguments: [3, 4, 5, 8, 15, 16, 17, 24, 30])
  func `heads of up to 128 KiB are read, whatever is requested`(fields: Int) async throws {
    let origin = HTTP2Origin(certificates) { request in
      [.head(request.stream, length: 100_000, fields: fields), .data(request.stream, pattern(100_000), ends: true)]
    }
    for method in [DownloadOptions.Method.get, .probe] {
      let options = DownloadOptions.forTests(method: method, connection: .with(caFile: certificates.authority))
      #expect(try await Fetcher().fetch(origin.url("/a"), options: options).image?.totalBytes == 100_000)
    }
  }

  @Test(arguments: [DownloadOptions.Method.probe, .head])
  func `a plain GET decides after a probe or HEAD whose stream is reset`(method: DownloadOptions.Method) async throws {
    let origin = HTTP2Origin(certificates) { request in
      request.sequence == 1
        ? [.reset(request.stream, code: HTTP2Origin.internalError)] : HTTP2Origin.Frame.answer(request.stream, [7])
    }
    let options = DownloadOptions.forTests(method: method, connection: .with(caFile: certificates.authority))
    #expect(try await Fetcher().fetch(origin.url("/a"), options: options).image?.body == [7])
    #expect(origin.requests.count == 2)
  }

  @Test func `a refused stream is requested again on another connection in the same attempt`() async throws {
    let origin = HTTP2Origin(certificates) { request in
      request.sequence == 1
        ? [.reset(request.stream, code: HTTP2Origin.refusedStream)] : HTTP2Origin.Frame.answer(request.stream, [7])
    }
    let end = try await Fetcher().fetch(origin.url("/a"), options: options())
    #expect(end.image?.body == [7] && end.summary.attempts == 1)
    #expect(origin.requests.map(\.connection) == [1, 2])
  }

  @Test func `streams refused repeatedly fail as reset, transient`() async throws {
    let origin = HTTP2Origin(certificates) { [.reset($0.stream, code: HTTP2Origin.refusedStream)] }
    let failure = try #require(try await Fetcher().fetch(origin.url("/a"), options: options()).failure)
    #expect(failure.kind == .reset && failure.isTransient)
  }

  @Test func `requests excluded by a GOAWAY move to another connection, and included ones finish`() async throws {
    // The first connection accepts three streams, and handles only the first.
    let origin = HTTP2Origin(certificates) { request in
      guard request.connection == 1 else { return HTTP2Origin.Frame.answer(request.stream, [7]) }
      return request.stream < 5 ? [] : [.goAway(last: 1)] + HTTP2Origin.Frame.answer(1, [7]) + [.close]
    }
    let fetcher = try Fetcher(concurrency: 3)
    let ends = try await fetcher.fetchAll((1...3).map { origin.url("/\($0)") }, options: options())
    #expect(ends.map { $0.image?.body } == [[7], [7], [7]])
    #expect(ends.allSatisfy { $0.summary.attempts == 1 })
    #expect(origin.requests.count == 5 && origin.requests.count { $0.connection == 1 } == 3)
  }

  @Test func `a body included by a GOAWAY finishes, and the next request opens another connection`() async throws {
    let origin = HTTP2Origin(certificates) { request in
      let head: [HTTP2Origin.Frame] = [.head(request.stream, length: 4), .data(request.stream, [1, 2])]
      return head + [.goAway(last: request.stream), .data(request.stream, [3, 4], ends: true)]
    }
    let ends = try await Fetcher().fetchInTurn([(origin.url("/a"), options()), (origin.url("/b"), options())])
    #expect(ends.map { $0.image?.body } == [[1, 2, 3, 4], [1, 2, 3, 4]])
    #expect(origin.requests.map(\.connection) == [1, 2])
  }

  @Test func `a stream reset midway fails as reset, transient, leaves others alone, and can be retried`() async throws {
    let origin = HTTP2Origin(certificates) { request in
      switch request.sequence {
      case 1: [.head(request.stream, length: 4), .data(request.stream, [1, 2])]
      case 2: [.reset(1, code: HTTP2Origin.internalError)] + HTTP2Origin.Frame.answer(request.stream, [7])
      default: HTTP2Origin.Frame.answer(request.stream, [8])
      }
    }
    let fetcher = try Fetcher(concurrency: 2)
    let ends = try await fetcher.fetchAll([origin.url("/a"), origin.url("/b")], options: options()).sorted { $0.id < $1.id }
    #expect(ends[0].failure?.kind == .reset && ends[0].failure?.isTransient == true && ends[1].image?.body == [7])
    let other = HTTP2Origin(certificates) { request in
      let cut: [HTTP2Origin.Frame] = [.head(request.stream, length: 4), .data(request.stream, [1])]
      let reset = HTTP2Origin.Frame.reset(request.stream, code: HTTP2Origin.internalError)
      return request.sequence == 1 ? cut + [reset] : HTTP2Origin.Frame.answer(request.stream, [7])
    }
    let end = try await Fetcher().fetch(other.url("/a"), options: options(retries: 1))
    #expect(end.image?.body == [7] && end.summary.attempts == 2)
  }

  @Test(arguments: [true, false]) func `a body that is shorter than its declared length isn't complete`(closes: Bool) async throws
  {
    let origin = HTTP2Origin(certificates) {
      [.head($0.stream, length: 4), .data($0.stream, [1, 2], ends: !closes)] + (closes ? [.close] : [])
    }
    let failure = try #require(try await Fetcher().fetch(origin.url("/a"), options: options()).failure)
    #expect([.reset, .truncated].contains(failure.kind) && failure.isTransient)
  }

  @Test func `only the stalled stream fails, and its retry succeeds`() async throws {
    let origin = HTTP2Origin(certificates) { request in
      request.sequence == 1 ? [.head(request.stream, length: 4)] : HTTP2Origin.Frame.answer(request.stream, [7])
    }
    // A busy machine may delay a retry.
    let end = try await Fetcher().fetch(origin.url("/a"), options: options(retries: 100, stallTimeout: .milliseconds(100)))
    #expect(end.failure == nil && end.image?.body == [7] && end.summary.attempts >= 2)
  }
}
