import Base
import Lists
import TestSupport
import Testing

@Suite struct FilterTests {
  let directory = TemporaryDirectory()

  private func matches(_ pattern: String, _ url: String) throws -> Bool {
    let pattern = try URLPattern(pattern)
    return Array(url.utf8).withUnsafeBytes { pattern.matches($0, parts: URLNormalizer.parts(ofNormalForm: $0)!) }
  }

  @Test(arguments: [
    ("*.jpg", "/a/b.jpg", true), ("*.jpg", "/a.jpg/b.png", false), ("*.jpg", "/.jpg", true), ("b.jpg", "/a/b.jpg", true),
    ("/a/*.jpg", "/a/b.jpg", true), ("/a/*.jpg", "/a/b/c.jpg", false), ("a/*.jpg", "/a/b.jpg", true),
    ("a/*.jpg", "/x/a/b.jpg", false),
    ("/a/**", "/a/b/c.jpg", true), ("/a/**", "/a/", true), ("/a/**", "/ab", false), ("/a/**/c.jpg", "/a/c.jpg", true),
    ("/a/**/c.jpg", "/a/x/y/c.jpg", true), ("/a/**/c.jpg", "/a/xc.jpg", false), ("**/c/*.jpg", "/a/b/c/d.jpg", true),
    ("**/c/*.jpg", "/c/d.jpg", true),
    ("**/c/*.jpg", "/c/x/d.jpg", false), ("/*/*/x*y*z", "/a/b/xxyyzz", true), ("/*/*/x*y*z", "/a/b/xxyyz/z", false),
    ("**a*b/c", "/x/aXb/aYb/c", true),
    ("?.png", "/a.png", true), ("?.png", "/ab.png", false), ("/a?b", "/a/b", false), ("[a-c]?.png", "/b1.png", true),
    ("[!a-c].png", "/b.png", false), ("[!a-c].png", "/d.png", true), ("[]x].png", "/].png", true), ("[a\\]].png", "/].png", true),
    ("*.{jpg,png}", "/a.png", true),
    ("*.{jpg,png}", "/a.gif", false), ("{a,b{c,d}}.png", "/bd.png", true), ("{a,b{c,d}}.png", "/b.png", false),
    ("a\\*", "/a*", true), ("a\\*", "/ab", false),
    ("a b ä.png", "/a%20b%20%C3%A4.png", true), ("*", "/", true), ("/", "/", true), ("**", "/a/b", true),
    ("A.png", "/a.png", false),
  ])
  func `globs match URLs`(_ pattern: String, path: String, fits: Bool) throws {
    #expect(try matches(pattern, "https://a.com\(path)?*.jpg") == fits)
  }

  @Test(arguments: [
    ("re:^https://a\\.com/", "https://a.com/x", true), ("re:^http:", "https://a.com/x", false),
    ("re:[?&]w=[0-9]+$", "https://a.com/x?w=12", true), ("re:(jpg|png)$", "https://a.com/x.gif", false),
  ])
  func `regular expressions match URLs`(_ pattern: String, url: String, fits: Bool) throws {
    #expect(try matches(pattern, url) == fits)
  }

  @Test func `an expression sees only the URL`() throws {
    let bytes = Array("https://a.com/x.jpg".utf8)
    let pattern = try URLPattern("re:jpg")
    bytes.withUnsafeBytes { bytes in
      let short = UnsafeRawBufferPointer(rebasing: bytes.dropLast(3))
      #expect(!pattern.matches(short, parts: URLNormalizer.parts(ofNormalForm: short)!))
    }
  }

  @Test(arguments: ["", "re:", "re:(", "[a", "{a", "a\\", "[b-a]", "[ä]", String(repeating: "{a,b}", count: 12)])
  func `invalid patterns are rejected`(_ pattern: String) {
    #expect(throws: InvalidPattern.self) { try URLPattern(pattern) }
  }

  @Test func `expensive patterns terminate`() throws {
    #expect(try !matches("/" + String(repeating: "*a", count: 30) + "b", "https://a.com/" + String(repeating: "a", count: 2000)))
    #expect(try !matches(String(repeating: "**/*a", count: 30) + "b", "https://a.com/" + String(repeating: "a/", count: 900)))
  }

  @Test(arguments: [EntryOrder.fifo, .lifo])
  func `include applies first, then exclude, limit and order`(order: EntryOrder) throws {
    var manifest = directory.manifest((1...9).map { "https://a.com/\($0).\($0 % 2 == 0 ? "png" : "jpg")\n" }.joined() + "bad\n")
    manifest.include = [try URLPattern("*.jpg"), try URLPattern("/4*")]
    manifest.exclude = [try URLPattern("re:/3[.]")]
    manifest.limit = 3
    let other = directory.manifest("https://b.com/\n", name: "other.txt")
    let result = try readAll([manifest, other], order: order)
    let entries = order == .fifo ? result.entries : result.entries.reversed()
    #expect(
      entries.filter { !$0.isFiltered }.map(\.url) == [
        "https://a.com/1.jpg", "https://a.com/4.png", "https://a.com/5.jpg", "https://b.com/",
      ]
    )
    #expect(entries.map(\.isFiltered) == [false, true, true, false, false, false])
  }

  @Test func `a limit covers all files of a pattern and ignores invalid entries`() throws {
    directory.write("bad\nhttps://a.com/1\nhttps://a.com/2\n", to: "a.txt")
    directory.write("https://b.com/1\nhttps://b.com/2\n", to: "b.txt")
    var manifest = URLList(.glob(directory.file("?.txt")), name: "?.txt")
    manifest.limit = 3
    #expect(try readAll([manifest]).urls == ["", "https://a.com/1", "https://a.com/2", "https://b.com/1"])
    #expect(try readAll([manifest], order: .lifo).urls == ["https://b.com/1", "https://a.com/2", "https://a.com/1", ""])
    manifest.limit = 0
    #expect(try readAll([manifest]).entries.isEmpty)
  }

  @Test func `entries are counted per manifest`() throws {
    var manifest = directory.manifest("https://a.com/1.jpg\nhttps://a.com/2.png\nbad\n")
    manifest.include = [try URLPattern("*.jpg")]
    let reader = try ListReader([manifest], order: .lifo, spoolDirectory: directory.path)
    var batch = EntryBatch()
    while try reader.next(&batch, maximum: 2) {}
    #expect(reader.counts.map(\.read) == [3])
    #expect(reader.counts.map(\.filtered) == [1])
    #expect(reader.counts.map(\.invalid) == [1])
  }
}
