import ImageDownloading
import TestOrigin
import Testing

/// The sent requests.
struct RequestTests {
  private func headers(_ options: DownloadOptions) async throws -> HeaderFields {
    let origin = try Origin(fallback: .body([1]))
    _ = try await Fetcher().fetch(origin.url("/a"), options: options)
    return try #require(origin.requests.first).headers
  }

  @Test func `the default Accept and User-Agent are truthful`() async throws {
    let headers = try await headers(DownloadOptions { $0.userAgent = "prewarm/0.1" })
    #expect(headers.all("Accept") == ["image/webp,image/*;q=0.8"])
    #expect(headers.all("User-Agent") == ["prewarm/0.1"])
    #expect(headers.all("Accept-Encoding") == ["identity"])
  }

  @Test func `custom headers are added and replace the defaults`() async throws {
    let own = [("accept", "image/png"), ("User-Agent", "mine"), ("X-Empty", ""), ("X-Twice", "1"), ("X-Twice", "2")]
    let headers = try await headers(DownloadOptions { $0.headers = own.map { HeaderField($0.0, $0.1) } })
    #expect(headers.all("Accept") == ["image/png"])
    #expect(headers.all("User-Agent") == ["mine"])
    #expect(headers.all("X-Empty") == [""])
    #expect(headers.all("X-Twice") == ["1", "2"])
  }

  @Test func `downloads of several jobs on one handle send their own headers`() async throws {
    let origin = try Origin(fallback: .body([1]))
    let fetcher = try Fetcher(concurrency: 1)
    for number in 1...6 {
      let options = number % 2 == 0 ? DownloadOptions.forTests() : .forTests(headers: [("X-Job", "\(number)")])
      let url = origin.url("/\(number)")
      fetcher.client.submit([Download(UInt64(number), url, sequence: Int64(number), options: options)])
    }
    _ = try await fetcher.recorder.waitForEnds(6)
    #expect(origin.requests.map { $0.headers["X-Job"] } == ["1", nil, "3", nil, "5", nil])
  }

  @Test func `path and query are sent unchanged`() async throws {
    let origin = try Origin(fallback: .body([1]))
    _ = try await Fetcher().fetch(origin.url("/a%2Fb/c%20d//e?x=%26&y"))
    #expect(origin.requests.map(\.target) == ["/a%2Fb/c%20d//e?x=%26&y"])
  }

  @Test func `a header with a line break is rejected`() {
    #expect(DownloadOptions.isValidHeader(name: "X-A", value: "text, with \"marks\" and ü"))
    #expect(!DownloadOptions.isValidHeader(name: "X-A", value: "a\r\nX-B: b"))
    #expect(!DownloadOptions.isValidHeader(name: "X A", value: "a"))
    #expect(!DownloadOptions.isValidHeader(name: "", value: "a"))
  }
}
