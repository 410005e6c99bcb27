import Base
import Testing

@testable import ImageDownloading

/// The status of caches on the way in a response's headers.
struct RemoteCacheResponseTests {
  private func answer(_ lines: [String]) -> RemoteCacheResponse {
    var fields = ResponseFields()
    for line in ["HTTP/1.1 200 OK"] + lines { Array((line + "\r\n").utf8).withUnsafeBytes { fields.add($0) } }
    return RemoteCacheResponse(fields)
  }

  @Test(
    arguments: [
      ("ExampleCache; hit", RemoteCacheStatus.hit), ("ExampleCache; hit; ttl=376", .hit),
      ("ExampleCache; hit=?1; ttl=-412", .hit), ("ExampleCache; hit=?0; fwd=miss", .miss),
      ("ExampleCache; fwd=uri-miss; stored; ttl=60", .miss), ("ExampleCache; fwd=uri-miss; collapsed", .miss),
      ("ExampleCache; fwd=stale; fwd-status=304", .hit), ("ExampleCache; fwd=stale; fwd-status=200", .miss),
      ("\"Netlify Edge\"; hit", .hit), ("\"Netlify Edge\"; fwd=miss", .miss),
      ("OriginCache; hit; ttl=1100, \"CDN Company Here\"; fwd=uri-miss", .miss),
      ("OriginCache; fwd=uri-miss, \"Edge, hit\" ; hit", .hit),
      ("ReverseProxyCache; hit, ForwardProxyCache; detail=\"just \\\"hit\\\", said; fwd=miss\"", .hit),
      ("OriginCache; HIT ;ttl=1,BrowserCache", .hit), ("HIT", .hit), ("MISS", .miss),
    ]
  )
  func `Cache-Status counts for the cache nearest to us`(value: String, status: RemoteCacheStatus) {
    #expect(answer(["cache-status: \(value)", "X-Cache: \(status == .hit ? "MISS" : "HIT")"]).status == status)
    #expect(answer(["Cache-Status: \(value)"]).evidence == "Cache-Status: \(value)")
  }

  @Test(
    arguments: [
      // Cloudflare
      (["CF-Cache-Status: HIT", "Age: 0"], RemoteCacheStatus.hit), (["CF-Cache-Status: MISS"], .miss),
      (["CF-Cache-Status: REVALIDATED"], .hit), (["CF-Cache-Status: UPDATING"], .hit), (["CF-Cache-Status: STALE"], .hit),
      (["CF-Cache-Status: EXPIRED"], .miss), (["CF-Cache-Status: BYPASS"], .miss), (["CF-Cache-Status: DYNAMIC"], .miss),
      (["CF-Cache-Status: NONE/UNKNOWN"], .miss), (["CF-Cache-Status: MISS", "Age: 12"], .miss),
      // CloudFront
      (["X-Cache: Hit from cloudfront", "Age: 5"], .hit), (["X-Cache: RefreshHit from cloudfront"], .hit),
      (["X-Cache: Miss from cloudfront"], .miss), (["X-Cache: LambdaGeneratedResponse from cloudfront"], .unknown),
      // Fastly
      (["X-Served-By: cache-fra-1, cache-ams-2", "X-Cache: MISS, HIT", "X-Cache-Hits: 0, 3"], .hit),
      (["X-Cache: HIT, MISS"], .miss), (["X-Cache: HIT", "X-Cache: MISS"], .miss), (["X-Cache: HIT"], .hit),
      // Akamai
      (["X-Cache: TCP_HIT from a23-4.deploy.akamaitechnologies.com (AkamaiGHost/22.1) (-)"], .hit),
      (["X-Cache: TCP_MEM_HIT from a23-4.deploy.akamaitechnologies.com (AkamaiGHost/22.1) (-)"], .hit),
      (["X-Cache: TCP_MISS from a23-hit.deploy.akamaitechnologies.com (AkamaiGHost/22.1) (-)"], .miss),
      (["X-Cache: TCP_REFRESH_HIT from a1"], .hit), (["X-Cache: TCP_REFRESH_MISS from a1"], .miss),
      (["X-Cache: TCP_EXPIRED_HIT from a1"], .hit), (["X-Cache: TCP_EXPIRED_MISS from a1"], .miss),
      (["Server-Timing: cdn-cache; desc=HIT, edge; dur=1"], .hit), (["Server-Timing: edge; dur=1, cdn-cache; desc=MISS"], .miss),
      // Varnish
      (["X-Varnish: 65538 32770", "Age: 43", "Via: 1.1 varnish"], .hit), (["X-Varnish: 65538", "Age: 0"], .unknown),
      (["X-Cache: HIT (3)"], .hit), (["X-Cache: hit-for-pass"], .miss), (["X-Cache: cached"], .hit),
      (["X-Cache: uncached"], .miss),
      // nginx
      (["X-Cache-Status: HIT"], .hit), (["X-Proxy-Cache: MISS"], .miss), (["X-Cache-Status: EXPIRED"], .miss),
      (["X-Cache-Status: STALE"], .hit), (["X-Proxy-Cache: BYPASS"], .miss),
      // Bunny
      (["CDN-Cache: HIT", "CDN-RequestId: 1"], .hit), (["CDN-Cache: MISS"], .miss), (["CDN-Cache: EXPIRED"], .miss),
      // Azure Front Door
      (["X-Cache: TCP_REMOTE_HIT"], .hit), (["X-Cache: TCP_MISS"], .miss), (["X-Cache: CONFIG_NOCACHE"], .miss),
      (["X-Cache: PRIVATE_NOSTORE"], .miss), (["X-Cache: N/A"], .unknown),
      // Google
      (["Via: 1.1 google", "Age: 120"], .hit), (["Via: 1.1 google"], .unknown), (["X-Cache-Status: stale"], .hit),
      // Squid
      (["X-Cache: HIT from proxy.example.net", "X-Cache-Lookup: HIT from proxy.example.net:3128"], .hit),
    ]
  )
  func `the headers of CDNs and proxies are recognised`(lines: [String], status: RemoteCacheStatus) {
    #expect(answer(lines).status == status)
  }

  @Test(
    arguments: [
      "", ",,,", "\"", "\"hit", "; hit", "a; \"", "a;;;=;fwd", "\\", "===", "hit=\"\\", ";=?1", "\u{1F600}; ttl", ",;,\t;",
    ]
  )
  func `junk is ignored in favour of other headers`(value: String) {
    for name in ["Cache-Status", "X-Cache", "Server-Timing", "Age"] {
      #expect(answer(["\(name): \(value)", "Age: 7"]).status != .miss || value == "a;;;=;fwd")
      #expect(answer(["\(name): \(value)"]).status != .hit || value.contains("hit"))
    }
    // A number of seconds may exceed any integer type (RFC 9111, section 1.2.2).
    #expect(answer(["Age: 99999999999999999999", "X-Varnish: \(value)"]).status == .hit)
    for age in ["-1", "0", "00", "1s", "0x1", ""] { #expect(answer(["Age: \(age)"]).status == .unknown) }
  }

  @Test func `the quoted header is short`() {
    let answer = answer(["X-Cache: HIT \(String(repeating: "x", count: 4000))"])
    #expect(answer.status == .hit && answer.evidence?.count == 200)
    #expect(RemoteCacheResponse(ResponseFields()) == RemoteCacheResponse(.unknown))
  }
}

/// The lines of a response's head.
struct ResponseFieldsTests {
  private func fields(_ lines: String...) -> ResponseFields {
    var fields = ResponseFields()
    for line in lines { Array((line + "\r\n").utf8).withUnsafeBytes { fields.add($0) } }
    return fields
  }

  @Test func `header names are case-insensitive, and white space around values is ignored`() {
    let fields = fields(
      "HTTP/1.1 200 OK",
      "ETAG:\"a\"",
      "content-TYPE: \t image/png \t",
      "Vary:",
      "Expiresx: 1",
      "Etagged: 2",
      ""
    )
    #expect(fields.last(.etag) == "\"a\"" && fields.last(.contentType) == "image/png" && fields.last(.vary) == "")
    #expect(!fields.has(.expires))
  }

  @Test func `repeated Vary headers are joined, and of others the last counts`() {
    let fields = fields("HTTP/1.1 200 OK", "Vary: Accept", "ETag: \"1\"", "Vary: Accept-Language, Origin", "ETag: \"2\"", "")
    #expect(fields.joined(.vary) == "Accept, Accept-Language, Origin" && fields.last(.etag) == "\"2\"")
    #expect(fields.joined(.age) == nil)
  }

  @Test func `a new status line starts a new head, and trailers are ignored`() {
    let fields = fields(
      "HTTP/1.1 103 Early Hints",
      "ETag: \"early\"",
      "Location: /x",
      "",
      "HTTP/2 200",
      "Last-Modified: then",
      "",
      "ETag: \"trailer\""
    )
    #expect(fields.last(.lastModified) == "then" && !fields.has(.etag) && !fields.has(.location))
  }

  @Test func `a folded line continues the previous one`() {
    let fields = fields("HTTP/1.1 200 OK", "Cache-Control: public,", "\t max-age=5", "X-Other: 1", " Age: 3", "Age: 4", "")
    #expect(fields.last(.cacheControl) == "public, max-age=5" && fields.last(.age) == "4")
  }
}
