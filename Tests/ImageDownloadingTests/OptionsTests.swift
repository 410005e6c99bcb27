import Base
import ImageDownloading
import TestOrigin
import Testing

/// Equality of options, and the headers that they send.
struct OptionsTests {
  private static let modifier = RequestModifier(name: "m") { $0 }
  private static let judge = PrefixJudge(name: "p") { _, _ in .accepted }
  private static let responseModifier = ResponseModifier(name: "j") { $0 }
  private static let decryptor = Decryptor(name: "d") { $0 }
  private static let user = Credentials.fixed(Credential(user: "u", password: "p"))

  /// The prepared options after a change.
  private func prepared(_ change: (inout DownloadOptions) -> Void = { _ in }) -> PreparedOptions {
    PreparedOptions(DownloadOptions(change))
  }

  @Test func `options are equal if they lead to the same result`() {
    let plain = prepared()
    let patient = prepared {
      $0.timeout = .seconds(1)
      $0.connectTimeout = .seconds(1)
      $0.stallTimeout = .seconds(1)
      $0.retries = 9
      $0.retryAfterMaximum = .seconds(1)
    }
    #expect(plain == patient && plain.hashValue == patient.hashValue)
    #expect(plain == prepared { $0.backoff = .init(initial: .zero, maximum: .zero) })
    let others = [
      prepared { $0.headers = [.init("A", "1")] }, prepared { $0.removedHeaders = ["A"] },
      prepared { $0.headers = [.init("A", "")] }, prepared { $0.accept = "image/png" }, prepared { $0.userAgent = "x" },
      prepared { $0.credentials = Self.user }, prepared { $0.handlesCookies = true },
      prepared { $0.allowsInvalidTLSCertificates = true }, prepared { $0.redirects = 1 },
      prepared { $0.acceptStatus = [200, 203] }, prepared { $0.acceptContentTypes = ["image/png"] }, prepared { $0.maxBytes = 1 },
      prepared { $0.streamAbove = 1 }, prepared { $0.chunkBytes = 1 }, prepared { $0.respectsRobots = true },
      prepared { $0.purpose.checksRemoteCache = true }, prepared { $0.connection.httpVersion = .http1 },
      prepared { $0 = $0.forOtherOrigin }, prepared { $0.requestModifier = Self.modifier },
      prepared { $0.responseModifier = Self.responseModifier }, prepared { $0.decryptor = Self.decryptor },
      prepared { $0.purpose.prefixJudge = Self.judge }, prepared { $0.method = .head }, prepared { $0.method = .probe },
      prepared { $0.credentials = .fixed(Credential(user: "u", password: "q")) },
      prepared { $0.credentials = .perHost { _, _, _ in nil } },
    ]
    for (index, other) in others.enumerated() {
      #expect(other != plain)
      #expect(others.firstIndex(of: other) == index)
    }
  }

  @Test func `hooks equal only themselves, whatever their names, and header names are equal in any case`() {
    let other = RequestModifier(name: Self.modifier.name) { _ in nil }
    #expect(prepared { $0.requestModifier = Self.modifier } == prepared { $0.requestModifier = Self.modifier })
    #expect(prepared { $0.requestModifier = Self.modifier } != prepared { $0.requestModifier = other })
    #expect(ResponseModifier(name: "a") { $0 } != ResponseModifier(name: "a") { $0 })
    #expect(Decryptor(name: "a") { $0 } != Decryptor(name: "a") { $0 })
    let judge = PrefixJudge(name: "p") { _, _ in .accepted }
    #expect(prepared { $0.purpose.prefixJudge = Self.judge } == prepared { $0.purpose.prefixJudge = judge })
    let sources = (1...2).map { _ in Credentials.perHost { _, _, _ in nil } }
    #expect(sources[0] == sources[0] && sources[0] != sources[1] && Set(sources + sources).count == 2)
    #expect(Self.user == .fixed(Credential(user: "u", password: "p")))
    #expect(prepared { $0.headers = [.init("X-A", "1")] } == prepared { $0.headers = [.init("x-a", "1")] })
    #expect(prepared { $0.acceptContentTypes = ["image/PNG"] } == prepared { $0.acceptContentTypes = ["image/png"] })
    #expect(Set([prepared { $0.requestModifier = Self.modifier }, prepared { $0.requestModifier = Self.modifier }]).count == 1)
  }

  @Test func `the description of credentials hides their parts`() {
    let credential = Credential(user: "alice", password: "hunter2")
    for text in ["\(credential)", String(reflecting: credential), String(reflecting: Credentials.fixed(credential))] {
      #expect(!text.contains("hunter2") && !text.contains("alice"))
    }
    var dumped = ""
    dump(Credentials.fixed(credential), to: &dumped)
    #expect(!dumped.contains("hunter2"))
  }

  @Test func `the value of a request header is known for Vary`() {
    let options = DownloadOptions {
      $0.headers = [.init("X-A", "1"), .init("x-a", "2"), .init("X-Default", "own")]
      $0.removedHeaders = ["User-Agent"]
      $0.accept = "image/png"
    }
    let defaults = [HeaderField("x-default", "all"), HeaderField("X-Other", "o")]
    #expect(options.requestValue(ofHeader: "accept") == "image/png")
    #expect(options.requestValue(ofHeader: "X-a") == "1, 2" && options.requestValue(ofHeader: "User-Agent") == nil)
    #expect(options.requestValue(ofHeader: "Accept-Encoding") == "identity")
    #expect(DownloadOptions { $0.removedHeaders = ["accept-encoding"] }.requestValue(ofHeader: "Accept-Encoding") == nil)
    #expect(options.requestValue(ofHeader: "Origin") == nil)
    #expect(options.requestValue(ofHeader: "X-Default", defaults: defaults) == "own")
    #expect(options.requestValue(ofHeader: "x-other", defaults: defaults) == "o")
  }

  @Test func `headers can be set for all requests, replaced and removed, including libcurl's own`() async throws {
    let origin = try Origin(addresses: [.ipv4, .ipv4])
    origin.set("/a", .redirect(to: origin.url("/b", host: 1)))
    origin.set("/b", .body([1]))
    let defaults = [
      HeaderField("X-All", "1"), HeaderField("X-Gone", "1"), HeaderField("user-agent", "ours"), HeaderField("X-Changed", "1"),
    ]
    let headers: [(name: String, value: String?)] = [
      ("x-gone", nil), ("X-Changed", "2"), ("accept", nil), ("Accept-Encoding", nil),
    ]
    let fetcher = try Fetcher(headers: defaults)
    #expect(fetcher.downloader.headers == defaults)
    #expect(try await fetcher.fetch(origin.url("/a"), options: .forTests(headers: headers)).image != nil)
    let (own, other) = (origin.requests[0].headers, origin.requests[1].headers)
    #expect(own["X-All"] == "1" && own["X-Gone"] == nil && own.all("X-Changed") == ["2"])
    #expect(own.all("User-Agent") == ["ours"] && own["Accept"] == nil && own["Accept-Encoding"] == nil)
    #expect(other["X-All"] == nil && other["X-Changed"] == nil)
    #expect(other["User-Agent"] == "prewarm" && other["Accept"] == "image/webp,image/*;q=0.8")
  }
}

/// The sent requests.
struct RequestTests {
  private func headers(_ options: DownloadOptions) async throws -> HeaderFields {
    let origin = try Origin(fallback: .body([1]))
    _ = try await Fetcher().fetch(origin.url("/a"), options: options)
    return try #require(origin.requests.first).headers
  }

  @Test func `the default Accept and User-Agent are truthful`() async throws {
    let headers = try await headers(DownloadOptions { $0.userAgent = "prewarm/0.1" })
    #expect(headers.all("Accept") == ["image/webp,image/*;q=0.8"] && headers.all("User-Agent") == ["prewarm/0.1"])
    #expect(headers.all("Accept-Encoding") == ["identity"])
  }

  @Test func `custom headers are added and replace the defaults`() async throws {
    let own = [("accept", "image/png"), ("User-Agent", "mine"), ("X-Empty", ""), ("X-Twice", "1"), ("X-Twice", "2")]
    let headers = try await headers(DownloadOptions { $0.headers = own.map { HeaderField($0.0, $0.1) } })
    #expect(headers.all("Accept") == ["image/png"] && headers.all("User-Agent") == ["mine"])
    #expect(headers.all("X-Empty") == [""] && headers.all("X-Twice") == ["1", "2"])
  }

  @Test func `downloads of several jobs on one handle send their own headers`() async throws {
    let origin = try Origin(fallback: .body([1]))
    let options = (1...6).map { $0 % 2 == 0 ? DownloadOptions.forTests() : .forTests(headers: [("X-Job", "\($0)")]) }
    _ = try await Fetcher(concurrency: 1).fetchInTurn(options.map { (origin.url("/a"), $0) })
    #expect(origin.requests.map { $0.headers["X-Job"] } == ["1", nil, "3", nil, "5", nil])
  }

  @Test func `a header with a line break is rejected`() {
    #expect(DownloadOptions.isValidHeader(name: "X-A", value: "text, with \"marks\" and ü"))
    #expect(!DownloadOptions.isValidHeader(name: "X-A", value: "a\r\nX-B: b"))
    #expect(!DownloadOptions.isValidHeader(name: "X A", value: "a"))
    #expect(!DownloadOptions.isValidHeader(name: "", value: "a"))
  }
}
