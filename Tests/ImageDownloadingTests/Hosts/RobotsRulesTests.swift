import TestSupport
import Testing

@testable import ImageDownloading

/// A robot's rules in `robots.txt`, by RFC 9309 and its examples.
struct RobotsRulesTests {
  private func isAllowed(_ path: String, by file: String, for token: String = "prewarm") -> Bool {
    RobotsRules(file.utf8, for: token).refusal(of: path.utf8) == nil
  }

  @Test(
    arguments: [
      ("otherbot", "/publications/a", true), ("otherbot", "/example/page.html", true), ("otherbot", "/a", true),
      ("otherbot", "/example/a", false), ("otherbot", "/a.gif", false), ("otherbot", "/example/allowed.gif", true),
      ("foobot", "/example/page.html", true), ("foobot", "/example/allowed.gif", true), ("foobot", "/a", false),
      ("barbot", "/example/page.html", true), ("barbot", "/example/a", false), ("bazbot", "/example/page.html", false),
      ("bazbot", "/a", true), ("quxbot", "/a", true), ("quxbot", "/example/a", true),
    ]
  )
  func `robots use their own group, a shared group, or else that of * (RFC 9309, 5.1)`(
    token: String,
    path: String,
    isAllowed: Bool
  ) {
    let file = """
      User-Agent: *
      Disallow: *.gif$
      Disallow: /example/
      Allow: /publications/
      Allow: /example/page.html
      Allow: /example/allowed.gif

      User-Agent: foobot
      Disallow:/
      Allow:/example/page.html
      Allow:/example/allowed.gif

      User-Agent: barbot
      User-Agent: bazbot
      Disallow: /example/page.html

      User-Agent: barbot
      Allow: /example/page.html
      Disallow: /example/

      User-Agent: quxbot

      EOF
      """
    // The example, with a second group for one robot, which is merged with its first.
    #expect(self.isAllowed(path, by: file, for: token) == isAllowed)
  }

  @Test func `the longest match wins, and Allow wins a tie (RFC 9309, 5.2)`() {
    let file = "User-agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n"
    #expect(isAllowed("/example/page/", by: file, for: "foobot"))
    #expect(!isAllowed("/example/page/disallowed.gif", by: file, for: "foobot"))
    for order in ["Disallow: /page\nAllow: /page", "Allow: /page\nDisallow: /page"] {
      #expect(isAllowed("/page", by: "User-agent: *\n" + order))
    }
  }

  @Test(
    arguments: [
      ("/foo/bar?baz=quz", "/foo/bar?baz=quz"), ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"),
      ("/foo/bar/\u{30C4}", "/foo/bar/%E3%83%84"), ("/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84"),
      ("/foo/bar/%62%61%7A", "/foo/bar/baz"), ("/foo/bar/baz", "/foo/bar/%62%61%7A"),
    ]
  )
  func `paths match whichever of their characters are percent-encoded (RFC 9309, 2.2.2)`(rule: String, path: String) {
    #expect(!isAllowed(path, by: "User-agent: *\nDisallow: \(rule)"))
    #expect(isAllowed("/foo/ba", by: "User-agent: *\nDisallow: \(rule)"))
  }

  @Test func `an encoded slash isn't a separator, and a broken escape is literal`() {
    #expect(isAllowed("/a%2Fb", by: "User-agent: *\nDisallow: /a/b"))
    #expect(!isAllowed("/a%2fb", by: "User-agent: *\nDisallow: /a%2Fb"))
    #expect(!isAllowed("/100%25", by: "User-agent: *\nDisallow: /100%"))
  }

  @Test(
    arguments: [
      ("/*.php", "/index.php", true), ("/*.php", "/folder/a.php?x", true), ("/*.php", "/", false),
      ("/*.php", "/windows.PHP", false), ("/*.php$", "/a.php", true), ("/*.php$", "/a.php5", false),
      ("/*.php$", "/a.php?a.php", true), ("/$", "/", true), ("/$", "/a", false), ("/fish*", "/fishheads", true),
      ("/fish*.php", "/fishheads/catfish.php?x=1", true), ("/fish*.php", "/Fish.PHP", false), ("/a**b", "/axxb", true),
      ("*", "/anything", true), ("/a*", "/a", true), ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html", true),
      ("/path/file-with-a-%2A.html", "/path/file-with-a-b.html", false), ("/path/foo-%24", "/path/foo-$", true),
      ("/a$b", "/a$b", true), ("/a$b", "/a", false), ("fish", "/fish", false), ("/*a*b*c$", "/xaxbxcxbxc", true),
      ("/*a*b*c$", "/xaxcxb", false),
    ]
  )
  func `* matches any bytes, $ matches the end, and both are literal if encoded (RFC 9309, 2.2.3)`(
    rule: String,
    path: String,
    matches: Bool
  ) {
    #expect(isAllowed(path, by: "User-agent: *\nDisallow: \(rule)") == !matches)
  }

  @Test(
    arguments: [
      ("prewarm", "/own", false), ("prewarm", "/general", true), ("other", "/own", true), ("other", "/general", false),
    ]
  )
  func `only the robot's own group counts, in any case, or else that of *`(token: String, path: String, isAllowed: Bool) {
    let file = "User-agent: *\nDisallow: /general\nUSER-AGENT: PreWarm/1.0\ndisallow: /own\n"
    #expect(self.isAllowed(path, by: file, for: token) == isAllowed)
  }

  @Test func `a group without rules allows everything`() {
    #expect(isAllowed("/a", by: "User-agent: *\nDisallow: /\n\nUser-agent: prewarm\nDisallow:\n"))
  }

  @Test func `other records, comments, orphaned rules, any line ends and a byte order mark are ignored`() {
    let odd =
      "\u{FEFF}User-agent: a\r\nCrawl-delay: 5\r\nSitemap: https://x/\r\nuser-agent:\tprewarm # us\rDisallow : /a # here\n\u{0}garbage\n"
    #expect(!isAllowed("/a", by: odd))
    #expect(!isAllowed("/a", by: odd, for: "a"))
    #expect(isAllowed("/b", by: odd))
    #expect(isAllowed("/a", by: "Disallow: /a\nAllow /b\n"))
    #expect(isAllowed("/a", by: "<html><body>Disallow: /</body></html>"))
    #expect(isAllowed("/a", by: ""))
    #expect(isAllowed("/robots.txt", by: "User-agent: *\nDisallow: /"))
  }

  @Test func `text beyond 500 KiB is ignored, and the rejecting rule is reported with its line`() {
    let long = "User-agent: *\nDisallow: /near\n" + String(repeating: "#\n", count: 256 << 10) + "Disallow: /far\n"
    let rules = RobotsRules(long.utf8, for: "prewarm")
    #expect(rules.refusal(of: "/near/a".utf8) == RobotsRules.Disallowance(rule: "Disallow: /near", line: 2))
    #expect(rules.refusal(of: "/far".utf8) == nil)
  }

  @Test(arguments: ["a", "*", "é", "e\u{301}", "\u{FF}"])
  func `a message quotes only the beginning of a long rule`(character: String) throws {
    let rules = RobotsRules("User-agent: *\nDisallow: /\(String(repeating: character, count: 100_000))".utf8, for: "prewarm")
    let path = "/" + String(repeating: character == "*" ? "a" : character, count: 100_000)
    let refusal = try #require(rules.refusal(of: path.utf8))
    let rule = try #require(refusal.rule)
    #expect(rule.hasPrefix("Disallow: /\(character)") && rule.hasSuffix("…") && rule.unicodeScalars.count == 200)
  }

  /// Matches by trying everything.
  private func matches(_ pattern: Substring, _ path: Substring) -> Bool {
    guard let first = pattern.first else { return true }
    if pattern == "$" { return path.isEmpty }
    if first == "*" { return matches(pattern.dropFirst(), path) || !path.isEmpty && matches(pattern, path.dropFirst()) }
    return path.first == first && matches(pattern.dropFirst(), path.dropFirst())
  }

  @Test(arguments: 0..<10) func `patterns match like an exhaustive search`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var matched = 0
    for _ in 0..<2000 {
      let pattern = "/" + String((0..<Int.random(in: 0...8, using: &random)).map { _ in "ab*".randomElement(using: &random)! })
      let end = Bool.random(using: &random) ? "$" : ""
      let path = "/" + String((0..<Int.random(in: 0...10, using: &random)).map { _ in "ab".randomElement(using: &random)! })
      let expected = matches((pattern + end)[...], path[...])
      #expect(isAllowed(path, by: "User-agent: *\nDisallow: \(pattern)\(end)") != expected, "\(pattern)\(end) \(path)")
      matched += expected ? 1 : 0
    }
    print("robots patterns, seed \(seed): \(matched) of 2000 match")
  }

  @Test func `the work for one URL is limited, and a URL beyond it is rejected`() throws {
    let path = "/" + String(repeating: "a", count: 7900)
    let rule = "Disallow: /*\(String(repeating: "a", count: 3900))b\n"
    let one = RobotsRules("User-agent: *\n\(rule)".utf8, for: "prewarm")
    #expect(one.refusal(of: path.utf8) == nil)
    let many = "User-agent: *\n" + String(repeating: "Disallow: /*ab\n", count: 30_000)
    let refusal = try #require(RobotsRules(many.utf8, for: "prewarm").refusal(of: path.utf8))
    #expect(refusal.rule == nil)
    #expect(RobotsRules(many.utf8, for: "prewarm").refusal(of: "/images/a.jpg".utf8) == nil)
  }

  @Test(
    arguments: [
      ("PreWarm/0.1 (+https://example.com)", "prewarm"), ("images bot", "images"), ("", ""),
      ("DuckDuckBot/1.0; (+http://duckduckgo.com/duckduckbot.html)", "duckduckbot"),
      ("Mozilla/5.0 (compatible; mybot/1.0; +http://example.com/bot)", "mybot"),
      ("Mozilla/5.0 (compatible;PetalBot;+https://example.com)", "petalbot"),
      ("Mozilla/5.0 (Compatible; archive.org_bot +http://archive.org/details)", "archive.org_bot"),
      ("Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.1; +https://a.com) Chrome/1 Safari/1", "gptbot"),
      (
        "Mozilla/5.0 (Linux; Android 6.0.1) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/1 (compatible; Googlebot/2.1; +http://a)",
        "googlebot"
      ),
      ("Mozilla/5.0 (Macintosh) AppleWebKit/600 (KHTML, like Gecko) Safari/600 (Applebot/0.1; +http://apple.com)", "applebot"),
      ("Mozilla/5.0 (X11) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/1 Safari/537.36 mybot/1.0 (+https://a.com)", "mybot"),
      ("Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0", "mozilla"),
      ("Mozilla/5.0 (compatible)", "mozilla"),
    ]
  )
  func `a user agent's product token is its first product, or that of a robot that begins like a browser`(
    userAgent: String,
    token: String
  ) {
    #expect(RobotsRules.productToken(of: userAgent) == token)
  }
}
