import Base
import TestSupport
import Testing

@testable import Lists

@Suite struct AccessLogTests {
  let directory = TemporaryDirectory()

  private func line(_ request: String, _ status: Int = 200, rest: String = #" "-" "Mozilla/5.0""#) -> String {
    "192.0.2.7 - - [21/Nov/2026:09:00:00 +0000] \"\(request)\" \(status) 5120\(rest)\n"
  }

  private func get(_ path: String, _ status: Int = 200) -> String { line("GET \(path) HTTP/1.1", status) }

  private func read(_ text: String, order: EntryOrder = .fifo, set: (inout URLList) throws -> Void = { _ in }) throws
    -> ReadResult
  {
    try directory.read(text, name: "access.log", order: order) { list in
      (list.format, list.baseURL) = (.combined, try BaseURL("https://a.com"))
      try set(&list)
    }
  }

  @Test func `the most requested URL comes first`() throws {
    let text =
      get("/b.jpg") + get("/a.jpg") + get("/c.jpg?w=1") + get("/a.jpg", 304) + get("/d.png") + get("/c.jpg?w=1", 206)
      + get("/a.jpg")
    let result = try read(text)
    #expect(result.urls == ["https://a.com/a.jpg", "https://a.com/c.jpg?w=1", "https://a.com/b.jpg", "https://a.com/d.png"])
    #expect(result.lines == [2, 3, 1, 5])
    #expect(try read(text, order: .lifo).urls == result.urls.reversed())
    #expect(try read(text) { $0.limit = 2 }.urls == Array(result.urls.prefix(2)))
    #expect(try read(text, order: .lifo) { $0.limit = 2 }.urls == result.urls.prefix(2).reversed())
  }

  @Test func `only successful GETs of images count`() throws {
    let text =
      line("HEAD /a.jpg HTTP/1.1") + line("POST /a.jpg HTTP/1.1") + get("/b.jpg", 404) + get("/c.jpg", 301) + get("/page")
      + line("-", 408) + line("", 400) + line(#"\x16\x03\x01"#, 400) + line("GET /old.jpg") + get("/x.JPEG#f")
    let result = try read(text)
    #expect(result.urls == ["https://a.com/old.jpg", "https://a.com/x.JPEG"])
    #expect(result.warnings.isEmpty)
    let none = try read(get("/page") + get("/page"))
    #expect(none.warnings.count == 1)
    expectGolden(none.warnings[0])
    let included = try read(get("/img/1") + get("/page")) { $0.include = [try URLPattern("/img/*")] }
    #expect(included.entries.map(\.isFiltered) == [false, true])
  }

  @Test func `both log formats and their escapes are read`() throws {
    let text =
      line("GET /1.jpg HTTP/1.0", rest: "") + line(#"GET /a\"b\\\x41\t.jpg HTTP/1.1"#)
      + line(#"GET /with space.jpg HTTP/1.1"#) + line(#"GET /q\x22.jpg HTTP/2.0"#) + "\r\n" + get("https://a.com/2.jpg")
    let result = try read(text)
    #expect(result.entries.map(\.written).count == 5 && result.urls.contains("https://a.com/a%22b/A%09.jpg"))
    #expect(result.urls.contains("https://a.com/1.jpg") && result.urls.contains("https://a.com/q%22.jpg"))
    #expect(result.urls.contains("https://a.com/with%20space.jpg") && result.urls.contains("https://a.com/2.jpg"))
    #expect(result.problems.allSatisfy { $0 == nil })
  }

  @Test func `lines in another format trigger one warning`() throws {
    let other = "192.0.2.7 GET /v.jpg 200\n"
    let text =
      get("/a.jpg") + "garbage\n" + other + "{\"json\": 1}\n" + String(repeating: "x", count: 100_000) + "\n" + get("/a.jpg")
    let result = try read(text)
    #expect(result.urls == ["https://a.com/a.jpg"])
    #expect(result.warnings.count == 1)
    #expect(result.warnings.first?.contains("4 lines") == true && result.warnings.first?.contains("line 2: 'garbage'") == true)
  }

  @Test func `paths require a base URL`() throws {
    let text = get("http://b.com/2.jpg") + get("http://b.com/2.jpg") + get("/1.jpg")
    let result = try read(text) {
      $0.baseURL = nil
      $0.include = [try URLPattern("*.jpg")]
    }
    #expect(result.urls == ["http://b.com/2.jpg"])
    #expect(result.failure?.message.contains("base-url") == true)
    #expect(result.failure?.line == 3)
    let unchosen = try read(text) { $0.baseURL = nil }
    #expect(unchosen.urls.isEmpty)
    #expect(unchosen.failure?.line == 1)
  }

  @Test func `no request target leads to another host`() throws {
    let others = [
      "http://a.com:8080/1.jpg", "https://a.com:8443/1.jpg", "https://b.com/1.jpg", "https://u:p@a.com/1.jpg", "b.com/1.jpg",
    ]
    let pathsOfTheirOwn = ["//b.com/2.jpg", "/\\x2fb.com/3.jpg", "/\\b.com/4.jpg", "///b.com/5.jpg"]
    // A cache behind a TLS proxy logs http.
    let same = ["https://a.com/6.jpg", "HTTPS://A.com:443/6.jpg", "/6.jpg", "http://a.com/6.jpg"]
    let text = (others + others + pathsOfTheirOwn + same).map { get($0) }.joined()
    let result = try read(text)
    #expect(
      result.urls == [
        "https://a.com/6.jpg", "https://a.com//b.com/2.jpg", "https://a.com//b.com/3.jpg", "https://a.com//b.com/4.jpg",
        "https://a.com///b.com/5.jpg",
      ]
    )
    #expect(try read(text, order: .lifo).urls == result.urls.reversed())
    #expect(try read(text) { $0.include = [try URLPattern("*")] }.urls == result.urls)
    let none = try read(others.map { get($0) }.joined())
    #expect(none.warnings.count == 1)
    expectGolden(none.warnings[0])
  }

  @Test func `a log is recognized by its first line`() throws {
    let text = "\n\r\n" + get("/b.jpg") + get("/a.jpg") + get("/a.jpg") + get("/page")
    let urls = ["https://a.com/a.jpg", "https://a.com/b.jpg"]
    for bytes in [Array(text.utf8), try gzip(text)] {
      var file = directory.manifest(bytes: bytes, name: "lines")
      file.baseURL = try BaseURL("https://a.com")
      #expect(try readAll([file]).urls == urls)
      #expect(try readAll([file], order: .lifo).urls == urls.reversed())
      let pipe = TestPipe(holding: bytes)
      var piped = URLList(.standardInput, name: "-")
      piped.baseURL = file.baseURL
      #expect(try readAll([piped], standardInput: pipe.readEnd).urls == urls)
    }
  }

  @Test func `a pattern may match logs and lists`() throws {
    directory.write(get("/1.jpg") + get("/2.jpg") + get("/2.jpg"), to: "a")
    directory.write("/3.jpg\nhttps://b.com/4.jpg\n", to: "b")
    directory.write(get("/5.jpg"), to: "c")
    directory.write("/6.jpg\n", to: "d")
    var manifest = URLList(.glob("\(directory.path)/?"), name: "?")
    manifest.baseURL = try BaseURL("https://a.com")
    let paths = ["a.com/2", "a.com/1", "a.com/3", "b.com/4", "a.com/5", "a.com/6"]
    #expect(try readAll([manifest]).urls == paths.map { "https://\($0).jpg" })
  }

  @Test func `a recognized log needs a base or patterns`() throws {
    var manifest = directory.manifest(get("/a.jpg") + get("https://a.com/b.jpg"), name: "lines")
    let error = #expect(throws: ListError.self) { try readAll([manifest]) }
    #expect(error?.line == 1)
    expectGolden(error?.description)
    manifest.include = [try URLPattern("*")]
    #expect(try readAll([manifest]).failure?.line == 1)
  }

  @Test(arguments: ["192.0.2.7 - - [x", "a b c d e", "\u{16}\u{3} - -"])
  func `lines that only resemble a log are text`(line: String) throws {
    let result = try readAll([directory.manifest("\(line)\nhttps://a.com/1.jpg\n", name: "lines")])
    #expect(result.problems.map { $0 == nil } == [false, true])
    let long = String(repeating: "x", count: 200_000)
    #expect(try readAll([directory.manifest("\(long)\nhttps://a.com/1.jpg", name: "lines")]).urls.count == 2)
  }

  @Test func `the files of a pattern are counted together`() throws {
    // The most requested target overall isn't the most requested one of any file.
    _ = directory.write(
      get("/only.jpg") + get("/1.jpg") + get("/1.jpg") + get("/1.jpg") + get("/all.jpg") + get("/all.jpg"),
      to: "log"
    )
    _ = directory.write(
      try gzip(get("/2.jpg") + get("/2.jpg") + get("/2.jpg") + get("/all.jpg") + get("/all.jpg")),
      to: "log.1.gz"
    )
    _ = directory.write(get("/page") + get("/all.jpg"), to: "log.2")
    var manifest = URLList(.glob(directory.file("log*")), name: "log*")
    manifest.format = .combined
    manifest.baseURL = try BaseURL("https://a.com")
    let other = directory.manifest("https://a.com/last.jpg\n", name: "other.txt")
    let result = try readAll([manifest, other])
    #expect(result.urls == ["all", "1", "2", "only", "last"].map { "https://a.com/\($0).jpg" })
    #expect(result.entries.map(\.manifest) == ["log", "log", "log.1.gz", "log", "other.txt"])
    #expect(result.lines == [5, 2, 1, 1, 1])
    #expect(try readAll([manifest, other], order: .lifo).urls == result.urls.reversed())
    manifest.limit = 2
    #expect(try readAll([manifest]).urls == Array(result.urls.prefix(2)))
    #expect(try readAll([manifest], order: .lifo).urls == result.urls.prefix(2).reversed())
  }

  @Test func `if a file of a log breaks off, its good part and the other files are counted`() throws {
    _ = directory.write(get("/1.jpg") + get("/2.jpg"), to: "log")
    _ = directory.write(Array(try gzip(get("/2.jpg") + get("/3.jpg")).dropLast(8)), to: "log.1.gz")
    _ = directory.write(get("/4.jpg"), to: "log.2")
    var manifest = URLList(.glob(directory.file("log*")), name: "log*")
    manifest.format = .combined
    manifest.baseURL = try BaseURL("https://a.com")
    let result = try readAll([manifest])
    #expect(result.urls.first == "https://a.com/2.jpg")
    #expect(Set(result.urls) == Set((1...4).map { "https://a.com/\($0).jpg" }) && result.urls.count == 4)
    #expect(result.failure?.manifest == "log.1.gz")
  }

  @Test(arguments: [1 << 30, 64 << 10, 8 << 10]) func `counts are exact with any amount of memory`(memoryBytes: Int) throws {
    // With 8 KiB, more runs are written than are merged at once, so intermediate merges happen in both sorts.
    let counter = RequestCounter(spoolDirectory: directory.path, memoryBytes: memoryBytes)
    var random = SeededRandom(seed: 7)
    var expected: [String: (count: Int, line: UInt64)] = [:]
    for line in 1...20_000 as ClosedRange<UInt64> {
      // A few targets are requested often, most once or twice.
      let number = Bool.random(using: &random) ? Int.random(in: 0..<40, using: &random) : Int.random(in: 0..<8000, using: &random)
      let target = "/catalogue/\(number)/" + String(repeating: "x", count: number % 50) + ".jpg"
      expected[target, default: (0, line)].count += 1
      try Array(target.utf8).withUnsafeBytes { try counter.add($0, location: LogLocation(file: 3, line: line)) }
    }
    try counter.finish()
    var found: [String] = []
    var lines: [UInt64] = []
    reading: while true {
      switch try counter.next() {
      case .target(let text, let place):
        found.append(String(decoding: text, as: UTF8.self))
        lines.append(place.line)
      case .nothingYet: continue
      case .end: break reading
      }
    }
    let sorted = expected.sorted { ($1.value.count, $0.value.line) < ($0.value.count, $1.value.line) }
    #expect(found == sorted.map(\.key))
    #expect(lines == sorted.map(\.value.line))
  }
}
