import Testing

@testable import Base

@Suite struct HostPatternTests {
  @Test(
    arguments: [
      ("IMG.Example.com", "img.example.com"), ("bücher.example", "xn--bcher-kva.example"), ("127.0.0.1", "127.0.0.1"),
      ("img.example.com:08443", "img.example.com:8443"), ("[2001:DB8::1]", "[2001:db8::1]"), ("[::1]:80", "[::1]:80"),
      ("*.CDN.example.com", "*.cdn.example.com"), ("*.com", "*.com"),
    ]
  )
  func `a name has a normal form, which is a name`(text: String, normal: String) throws {
    let pattern = try #require(HostPattern(text))
    #expect(pattern.description == normal && HostPattern(normal) == pattern)
  }

  @Test(
    arguments: [
      "", "*", "*.", "*example.com", "a.*.example.com", "*.*.com", "*.example.com:443", "*.127.0.0.1", "*.[::1]", "*..com",
      ".example.com", "https://img.example.com", "img.example.com/", "bot@img.example.com", "img.example.com:", ":443", "::1",
      "img.example.com:0", "img.example.com:65536", "img.example.com:+1", "img example.com", "${HOST}", "a,b", "a:1:2", "[::1",
      "1.2.3.4.5",
    ]
  )
  func `other texts are no names`(text: String) { #expect(HostPattern(text) == nil) }

  @Test(
    arguments: [
      ("http://img.example.com/", "img.example.com"), ("https://IMG.example.com:443/", "img.example.com"),
      ("https://img.example.com:8443/", "img.example.com:8443"), ("https://bot@img.example.com:9/", "img.example.com"),
      ("https://a.b.example.com/", "*.example.com"), ("https://cdn.example.com:8443/", "*.example.com"),
      ("https://x.y.cdn.example.com/", "*.cdn.example.com"), ("https://example.com/", "example.com"),
      ("https://notexample.com/", nil), ("https://img.example.com.evil.example/", nil), ("https://com/", nil),
      ("http://[::1]/", "[::1]"), ("http://[::1]:81/", "[::1]:81"), ("http://127.0.0.1/", "127.0.0.1:80"),
      ("https://127.0.0.1/", nil), ("https://127.0.0.1:80/", "127.0.0.1:80"),
    ]
  )
  func `the most specific name of a host counts`(url: String, name: String?) throws {
    let names = [
      "*.example.com", "[::1]", "img.example.com", "127.0.0.1:80", "*.cdn.example.com", "img.example.com:8443", "[::1]:81",
      "example.com",
    ]
    let patterns = try Dictionary(uniqueKeysWithValues: names.map { (try #require(HostPattern($0)), $0) })
    let url = try BaseURL(url)
    #expect(patterns.value(of: url.bytes[url.parts.hostAndPort], isSecure: url.parts.isSecure) == name)
  }
}
