import ImageDownloading
import ImagePrimitives
import TestOrigin
import Testing

/// What options are equal, and what they send.
struct OptionsTests {
  private static let filter = HeaderFilter(name: "f") { _, headers in headers }
  private static let modifier = RequestModifier(name: "m") { $0 }
  private static let judge = PrefixJudge(name: "p") { _, _ in .accepted }
  private static let responseModifier = ResponseModifier(name: "j") { $0 }
  private static let decryptor = Decryptor(name: "d") { $0 }
  private static let user = Credentials.fixed(Credential(user: "u", password: "p"))

  @Test("M19: options are equal where they lead to the same result")
  func equality() {
    let plain = DownloadOptions()
    #expect(plain == DownloadOptions(timeout: .seconds(1), connectTimeout: .seconds(1), stallTimeout: .seconds(1), retries: 9))
    #expect(plain == DownloadOptions(backoff: .init(initial: .zero, maximum: .zero)))
    #expect(plain.hashValue == DownloadOptions(timeout: .seconds(1), retries: 9).hashValue)
    let others = [
      DownloadOptions(headers: [("A", "1")]), DownloadOptions(headers: [("A", nil)]), DownloadOptions(headers: [("A", "")]),
      DownloadOptions(accept: "image/png"), DownloadOptions(userAgent: "x"), DownloadOptions(headerFilter: Self.filter),
      DownloadOptions(credentials: Self.user), DownloadOptions(handlesCookies: true),
      DownloadOptions(allowsInvalidTLSCertificates: true), DownloadOptions(redirects: 1),
      DownloadOptions(acceptStatus: [200, 203]),
      DownloadOptions(acceptContentTypes: ["image/png"]), DownloadOptions(maxBytes: 1), DownloadOptions(streamAbove: 1),
      DownloadOptions(requestModifier: Self.modifier), DownloadOptions(responseModifier: Self.responseModifier),
      DownloadOptions(decryptor: Self.decryptor), DownloadOptions(prefixJudge: Self.judge),
      DownloadOptions(method: .head), DownloadOptions(method: .probe),
      DownloadOptions(credentials: .fixed(Credential(user: "u", password: "q"))),
      DownloadOptions(credentials: .perHost(name: "c") { _, _, _ in nil }),
    ]
    for (place, other) in others.enumerated() {
      #expect(other != plain)
      #expect(others.firstIndex(of: other) == place)
    }
  }

  @Test("M19: options for whole bodies are else the same")
  func wholeBodies() {
    let options = DownloadOptions(method: .probe, retries: 7, prefixJudge: Self.judge)
    #expect(options.deliveringWholeBodies == DownloadOptions(method: .probe, streamAbove: .max, prefixJudge: Self.judge))
    #expect(options.deliveringWholeBodies.retries == 7)
  }

  @Test("M19: hooks are equal by their names, header names whatever their case")
  func hooksByName() {
    #expect(DownloadOptions(headerFilter: Self.filter) == DownloadOptions(headerFilter: HeaderFilter(name: "f") { _, _ in [] }))
    #expect(DownloadOptions(headerFilter: Self.filter) != DownloadOptions(headerFilter: HeaderFilter(name: "g") { _, _ in [] }))
    #expect(
      DownloadOptions(requestModifier: Self.modifier) == DownloadOptions(requestModifier: RequestModifier(name: "m") { _ in nil })
    )
    #expect(
      DownloadOptions(prefixJudge: Self.judge) == DownloadOptions(prefixJudge: PrefixJudge(name: "p") { _, _ in .accepted })
    )
    let source = { Credentials.perHost(name: $0) { _, _, _ in nil } }
    #expect(source("a") == source("a") && source("a") != source("b"))
    #expect(DownloadOptions(headers: [("X-A", "1")]) == DownloadOptions(headers: [("x-a", "1")]))
    #expect(Set([DownloadOptions(headerFilter: Self.filter), DownloadOptions(headerFilter: Self.filter)]).count == 1)
  }

  @Test("D7: credentials describe themselves without their parts")
  func credentialsAreNotPrinted() {
    let credential = Credential(user: "alice", password: "hunter2")
    for text in ["\(credential)", String(reflecting: credential), String(reflecting: Credentials.fixed(credential))] {
      #expect(!text.contains("hunter2") && !text.contains("alice"))
    }
    var dumped = ""
    dump(Credentials.fixed(credential), to: &dumped)
    #expect(!dumped.contains("hunter2"))
  }

  @Test("C19: what is sent in a header is known for Vary")
  func requestValue() {
    let options = DownloadOptions(
      headers: [("X-A", "1"), ("x-a", "2"), ("User-Agent", nil), ("X-Default", "own")],
      accept: "image/png"
    )
    let defaults = [HeaderField("x-default", "all"), HeaderField("X-Other", "o")]
    #expect(options.requestValue(ofHeader: "accept") == "image/png")
    #expect(options.requestValue(ofHeader: "X-a") == "1, 2")
    #expect(options.requestValue(ofHeader: "User-Agent") == nil)
    #expect(options.requestValue(ofHeader: "Accept-Encoding") == "identity")
    #expect(DownloadOptions(headers: [("accept-encoding", nil)]).requestValue(ofHeader: "Accept-Encoding") == nil)
    #expect(options.requestValue(ofHeader: "Origin") == nil)
    #expect(options.requestValue(ofHeader: "X-Default", defaults: defaults) == "own")
    #expect(options.requestValue(ofHeader: "x-other", defaults: defaults) == "o")
  }

  @Test("D6: headers can be set for all requests, replaced and removed, those that libcurl adds too")
  func replacedAndRemoved() throws {
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
    #expect(try fetcher.fetch(origin.url("/a"), options: .forTests(headers: headers)).image != nil)
    let (own, other) = (origin.requests[0].headers, origin.requests[1].headers)
    #expect(own["X-All"] == "1" && own["X-Gone"] == nil && own.all("X-Changed") == ["2"])
    #expect(own.all("User-Agent") == ["ours"] && own["Accept"] == nil && own["Accept-Encoding"] == nil)
    #expect(other["X-All"] == nil && other["X-Changed"] == nil)
    #expect(other["User-Agent"] == "prewarm" && other["Accept"] == "image/webp,image/*;q=0.8")
  }
}
