import Base
import Testing

/// The normal form of `written`, or the reason why it has none.
private func normalForm(_ written: String, base: String? = nil) throws -> String {
  let base = try base.map { try BaseURL($0) }
  var bytes = Array("before".utf8)
  _ = try Array(written.utf8).withUnsafeBytes { try URLNormalizer().normalize($0, relativeTo: base, into: &bytes) }
  return String(decoding: bytes.dropFirst(6), as: UTF8.self)
}

private func rejection(_ written: String, base: String? = nil) -> InvalidURL.Reason? {
  do {
    _ = try normalForm(written, base: base)
    return nil
  } catch {
    return (error as? InvalidURL)?.reason
  }
}

@Suite struct NormalFormTests {
  static let pairs: [(String, String)] = [
    ("HTTP://EXAMPLE.com:80/a/./b/../c?x=Y#f", "http://example.com/a/c?x=Y"),
    ("https://a.com:443", "https://a.com/"),
    ("https://a.com:0443/", "https://a.com/"),
    ("https://a.com:80/", "https://a.com:80/"),
    ("http://a.com:/x", "http://a.com/x"),
    ("http://a.com:80/x", "http://a.com/x"),
    ("https://a.com:443/x", "https://a.com/x"),
    ("  https://a.com/x  ", "https://a.com/x"),
    ("https://a.com?x", "https://a.com/?x"),
    ("https://a.com#x?y", "https://a.com/"),
    ("https://a.com/x?", "https://a.com/x?"),
    ("https://a.com?", "https://a.com/?"),
    ("https://a.com/x?#f", "https://a.com/x?"),
    ("https://a.com/x?a?b/c", "https://a.com/x?a?b/c"),
    ("https://a.com//b///c", "https://a.com//b///c"),
    // Percent-encoding.
    ("https://a.com/%7euser%2f%c3%a4%2D?u=x%2fy", "https://a.com/%7euser%2f%c3%a4%2D?u=x%2fy"),
    ("https://a.com/ä b", "https://a.com/%C3%A4%20b"),
    ("https://a.com/a?b c", "https://a.com/a?b%20c"),
    ("https://a.com/100%.jpg", "https://a.com/100%.jpg"),
    ("https://a.com/%zz%4", "https://a.com/%zz%4"),
    ("https://a.com/<\">{}|^`?<\">{}|^`\\'", "https://a.com/%3C%22%3E%7B%7D|%5E%60?%3C%22%3E{}|^`\\%27"),
    ("https://a.com/a[1]'?b[]=x;+&", "https://a.com/a[1]'?b[]=x;+&"),
    ("https://a.com/a%20b?c=%26", "https://a.com/a%20b?c=%26"),
    // Dot segments (RFC 3986 section 5.2.4).
    ("https://a.com/../../x", "https://a.com/x"),
    ("https://a.com/a/b/..", "https://a.com/a/"),
    ("https://a.com/a/b/.", "https://a.com/a/b/"),
    ("https://a.com/..", "https://a.com/"),
    ("https://a.com/a//../b", "https://a.com/a/b"),
    ("https://a.com/%2e%2E/a/%2e/.b/..c/...", "https://a.com/a/.b/..c/..."),
    ("https://a.com/a/.%2e/b%2e/%2e%2e%2e/.%2f/%252e", "https://a.com/b%2e/%2e%2e%2e/.%2f/%252e"),
    // Slashes, and bytes that browsers drop or encode.
    ("https:a.com/x", "https://a.com/x"),
    ("https:/a.com", "https://a.com/"),
    ("http:///a.com//x", "http://a.com//x"),
    ("http:\\\\a.com\\b\\..\\c?\\", "http://a.com/c?\\"),
    ("\u{1}\n https://a.\tcom/a\r\nb\0\u{7f}\u{1f}", "https://a.com/ab%00%7F"),
    ("ht\ntps://a.com/", "https://a.com/"),
    ("https://a.com/a?../b", "https://a.com/a?../b"),
    // Hosts.
    ("https://Bücher.example/", "https://xn--bcher-kva.example/"),
    ("https://ex%C3%BC.de/", "https://xn--ex-yka.de/"),
    ("https://Faß.de", "https://xn--fa-hia.de/"),
    ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"),
    ("https://my_cdn.example.", "https://my_cdn.example./"),
    ("http://ex%61mple.com/", "http://example.com/"),
    ("http://0x7f.1/", "http://127.0.0.1/"),
    ("http://2130706433:8080/", "http://127.0.0.1:8080/"),
    ("http://0300.1.2.3/", "http://192.1.2.3/"),
    ("http://10.0.0.1/", "http://10.0.0.1/"),
    ("http://[FE80::A]:8080/", "http://[fe80::a]:8080/"),
    ("http://[0:0:0:0:0:0:0:1]:80/", "http://[::1]/"),
    ("http://[::ffff:102:304]/", "http://[::ffff:1.2.3.4]/"),
    ("http://1.example.3com/", "http://1.example.3com/"),
    // Credentials.
    ("https://us er:p%3a%7e:w@a.com", "https://us%20er:p%3a%7e:w@a.com/"),
    ("https://@a.com/", "https://a.com/"),
    ("https://user@[::1]/", "https://user@[::1]/"),
  ]

  @Test(arguments: pairs) func `each rule of normalisation applies`(_ pair: (String, String)) throws {
    #expect(try normalForm(pair.0) == pair.1)
  }

  @Test(arguments: pairs) func `the scan accepts exactly the normalised URLs`(_ pair: (String, String)) throws {
    let isNormal = Array(pair.0.utf8).withUnsafeBytes { URLNormalizer.parts(ofNormalForm: $0) } != nil
    #expect(isNormal == (pair.0 == pair.1))
    #expect(Array(pair.1.utf8).withUnsafeBytes { URLNormalizer.parts(ofNormalForm: $0) } != nil)
    #expect(try normalForm(pair.1) == pair.1)
  }

  @Test(
    arguments: [
      ("", InvalidURL.Reason.empty), (" \n\t ", .empty), ("/x.jpg", .relative), ("x.jpg", .relative), ("//a.com/", .relative),
      ("ftp://a.com/x", .scheme), ("file:///etc/passwd", .scheme), ("example.com:8080/x", .scheme), ("data:image/png,x", .scheme),
      ("http://", .host), ("https:", .host), ("http://a b.com/", .host), ("http://a%2fb.com/", .host), ("http://?x", .host),
      ("http://:80/", .host),
      ("http://[::1/", .host), ("http://[zz]/", .host), ("http://[fe80::1%25eth0]/", .host), ("http://1.2.3.256/", .host),
      ("http://1.2.3.4.5/", .host), ("http://127.0.0.1./", .host), ("http://-ü.de/", .host),
      ("http://a.com:99999/", .port), ("http://a.com:0/", .port), ("http://a.com:8a/", .port),
      ("http://user:pass/word@a.com/", .port),
      ("http://a@b@c.com/", .credentials), ("https://a.com/" + String(repeating: "x", count: 8180), .tooLong),
      ("https://a.com/" + String(repeating: "ä", count: 2000), .tooLong),
    ]
  )
  func `invalid URLs are rejected`(_ pair: (String, InvalidURL.Reason)) {
    #expect(rejection(pair.0) == pair.1)
  }

  @Test func `a rejection leaves the bytes unchanged`() {
    var bytes = Array("before".utf8)
    _ = Array("https://user@1.2.3.256/".utf8).withUnsafeBytes { written in
      #expect(throws: InvalidURL.self) { try URLNormalizer().normalize(written, relativeTo: nil, into: &bytes) }
    }
    #expect(bytes == Array("before".utf8))
  }

  @Test func `the longest allowed URL passes`() throws {
    let longest = "https://a.com/" + String(repeating: "x", count: URLNormalizer.maximumURLBytes - 14)
    #expect(try normalForm(longest) == longest)
  }

  @Test func `the parts of a URL are located correctly`() throws {
    let text = "https://us:pw@a.com:8443/b/c.png?d=e"
    let bytes = Array(text.utf8)
    let parts = try #require(bytes.withUnsafeBytes { URLNormalizer.parts(ofNormalForm: $0) })
    let part = { (range: Range<Int>) in String(decoding: bytes[range], as: UTF8.self) }
    #expect(parts.isSecure)
    #expect(part(parts.userInfo) == "us:pw")
    #expect(part(parts.host) == "a.com")
    #expect(part(parts.hostAndPort) == "a.com:8443")
    #expect(part(parts.path) == "/b/c.png")
    #expect(part(parts.query) == "d=e")
    #expect(part(parts.requestTarget) == "/b/c.png?d=e")
    #expect(parts.count == bytes.count)

    let plain = try #require(Array("http://a.com/".utf8).withUnsafeBytes { URLNormalizer.parts(ofNormalForm: $0) })
    #expect(plain.userInfo.isEmpty && plain.query.isEmpty && plain.path == 12..<13 && !plain.isSecure)
  }

  @Test func `every byte in every part is normalised or rejected`() throws {
    for byte in UInt8.min...UInt8.max {
      for (before, after) in [
        ("https://a.com/x", "y"), ("https://a.com/?x", "y"), ("https://u", "v@a.com/"), ("https://a", "b.com/"),
      ] {
        var bytes: [UInt8] = []
        let written = Array(before.utf8) + [byte] + Array(after.utf8)
        guard (try? written.withUnsafeBytes({ try URLNormalizer().normalize($0, relativeTo: nil, into: &bytes) })) != nil else {
          continue
        }
        #expect(bytes.allSatisfy { $0 > 32 && $0 < 127 })
        #expect(bytes.withUnsafeBytes { URLNormalizer.parts(ofNormalForm: $0) } != nil)
      }
    }
  }
}

@Suite struct ResolutionTests {
  /// RFC 3986 section 5.4, with http for its made-up `g` hosts; and what browsers resolve in another way.
  @Test(
    arguments: [
      ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"), ("//g", "http://g/"),
      ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q"), ("g#s", "http://a/b/c/g"),
      (";x", "http://a/b/c/;x"), ("g;x?y#s", "http://a/b/c/g;x?y"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"),
      ("..", "http://a/b/"), ("../g", "http://a/b/g"), ("../../g", "http://a/g"), ("../../../g", "http://a/g"),
      ("/./g", "http://a/g"),
      ("g.", "http://a/b/c/g."), ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"), ("g;x=1/../y", "http://a/b/c/y"),
      ("g?y/../x", "http://a/b/c/g?y/../x"), ("img/12:30 a.png", "http://a/b/c/img/12:30%20a.png"),
      ("https://b.com", "https://b.com/"),
      ("///b.com/x", "http://b.com/x"), ("\\\\b.com\\x", "http://b.com/x"), ("/\t/b.com", "http://b.com/"), ("\\x", "http://a/x"),
      ("/\\b.com", "http://b.com/"), ("http:/b", "http://a/b"), ("http:b", "http://a/b/c/b"), ("HTTP:?b", "http://a/b/c/d;p?b"),
      ("http:\\\\b.com", "http://b.com/"), ("https:/b", "https://b/"), ("https:b/x", "https://b/x"),
      ("http:", "http://a/b/c/d;p?q"),
      ("x\\..\\y?z\\", "http://a/b/c/y?z\\"), ("\n g%2f\r\nh ", "http://a/b/c/g%2fh"), ("?", "http://a/b/c/d;p?"),
    ]
  )
  func `relative references are resolved`(_ pair: (String, String)) throws {
    #expect(try normalForm(pair.0, base: "http://a/b/c/d;p?q") == pair.1)
  }

  @Test func `redirects keep credentials only on the same authority`() throws {
    let base = try BaseURL("https://us:pw@a.com/x/y")
    let resolve = { (location: String) throws -> String in
      var bytes: [UInt8] = []
      _ = try Array(location.utf8).withUnsafeBytes { location in
        try URLNormalizer().normalize(location, relativeTo: base, into: &bytes)
      }
      return String(decoding: bytes, as: UTF8.self)
    }
    #expect(try resolve("z") == "https://us:pw@a.com/x/z")
    #expect(try resolve("//b.com/z") == "https://b.com/z")
    #expect(try resolve("http://b.com/") == "http://b.com/")
    #expect(throws: InvalidURL.self) { try resolve("ftp://b.com/") }
  }
}

@Suite struct CredentialMaskTests {
  @Test(
    arguments: [
      ("https://us:pw@a.com/x@2x.png", "https://***@a.com/x@2x.png"), ("https://a.com/x@2x.png", "https://a.com/x@2x.png"),
      ("https://a.com/?mail=a@b.c", "https://a.com/?mail=a@b.c"), ("HTTP://us@a.com", "HTTP://***@a.com"),
      ("//us:pw@a.com/x", "//***@a.com/x"),
      ("https://us:pa/ss@a.com/x", "https://***@a.com/x"), ("https://us:p#q?r@a.com/", "https://***@a.com/"),
      ("https://a@b@c.com/", "https://***@c.com/"),
      ("us:pw@a.com/x", "***@a.com/x"), ("photo@2x.png", "photo@2x.png"), ("/img/@2x.png", "/img/@2x.png"),
      ("http:us:pw@a.com", "http:***@a.com"),
      ("http:\\\\us:pw@a.com", "http:\\\\***@a.com"), ("https://u\\s:pw@a.com/", "https://***@a.com/"),
      ("  https://us:pw@a.com", "  https://***@a.com"),
      ("https://[::1]:80/@x", "https://[::1]:80/@x"), ("ftp://us:pw@a.com/", "ftp://***@a.com/"), ("", ""), ("@", "@"),
      ("http://@", "http://@"), ("https://@a.com/http://us:pw@b.com/", "https://@a.com/http://***@b.com/"),
      ("x http://us:pw@a.com/y", "x http://***@a.com/y"), ("https//us:pw@a.com/x", "https//***@a.com/x"),
      ("://us:pw@a.com", "://***@a.com"), ("http\\u://us:pw\\@a.com/x", "http\\u://***@a.com/x"),
      (#"{"u":"http:\/\/us:pw@a.com\/x"}"#, #"***@a.com\/x"}"#),
      ("7,http://us:pw@a.com/a.jpg", "7,http://***@a.com/a.jpg"), ("7,http://us:p/w&s@a.com/a.jpg", "7,http://***@a.com/a.jpg"),
      ("a http://us:pw@a.com/ http://us@b.com/@2x", "a http://***@a.com/ http://***@b.com/@2x"),
      ("https://us@a.com/?to=http://us:pw@b.com/", "https://***@a.com/?to=http://***@b.com/"),
      ("https://a.com/?to=http://us:pw@b.com/&x=c@d", "https://a.com/?to=http://***@b.com/&x=c@d"),
      ("https://a.com/300x/http://us@b.com/x.jpg", "https://a.com/300x/http://***@b.com/x.jpg"),
      ("https://a.com/?to=http://b.com&mail=c@d.e", "https://a.com/?to=http://b.com&mail=c@d.e"),
      ("https://a.com/?to=http://b.com:80&mail=c@d.e", "https://a.com/?to=http://b.com:80&mail=c@d.e"),
      ("https://a.com//x@2x.png", "https://a.com//x@2x.png"),
      ("https://a.com/http://b.com/x@2x.png", "https://a.com/http://b.com/x@2x.png"),
      ("https://a.com/?u=http%3A%2F%2Fus%3Apw%40b.com%2F", "https://a.com/?u=http%3A%2F%2F***%40b.com%2F"),
      ("https://a.com/?u=http%3a//us:pw%40b.com/x", "https://a.com/?u=http%3a//***%40b.com/x"),
      ("https://us:pw@a.com/?u=http%3A%2F%2Fus%3Apw%40b.com", "https://***@a.com/?u=http%3A%2F%2F***%40b.com"),
      ("https://a.com/?u=http%253A%252F%252Fus%253Apw%2540b.com&x", "https://a.com/?u=http%253A%252F%252F***%2540b.com&x"),
      ("https://us:p%40w@a.com/", "https://***@a.com/"), ("https://a.com/?mail=a%40b.c", "https://a.com/?mail=a%40b.c"),
      ("https://a.com/%4", "https://a.com/%4"), ("https://a.com/x%402x.png", "https://a.com/x%402x.png"),
    ]
  )
  func `user name and password are hidden`(_ pair: (String, String)) {
    #expect(maskingCredentials(pair.0) == pair.1)
    #expect(Array(pair.0.utf8).withUnsafeBytes { holdsCredentials($0) } == (pair.0 != pair.1))
  }

  @Test func `many slashes take no extra time`() {
    for part in [#"\\a"#, "//a:1", "//:", "/:", "://", #":\\"#, "//a&"] {
      let text = String(repeating: part, count: 1 << 16) + "@"
      #expect(maskingCredentials(text).utf8.count <= text.utf8.count + 3)
    }
  }

  @Test func `error messages quote nothing of the URL`() {
    for text in ["https://secret:secret/x@a.com", "secret:secret@a.com", "https://secret@b@c", "https://secret@1.2.3.256/"] {
      do {
        _ = try BaseURL(text)
        Issue.record("\(text) passed")
      } catch {
        #expect(!error.message.contains("secret"))
      }
    }
  }
}
