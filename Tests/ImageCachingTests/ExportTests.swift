import Glibc
import ImagePrimitives
import TestSupport
import Testing

@testable import ImageCaching

@Suite struct ExportTests {
  let directory = TemporaryDirectory()
  let clock = ManualClock()
  private var target: String { directory.file("out") }

  private func digits(_ url: String) -> String { Array(url.utf8).withUnsafeBytes { AppFileName.digits(of: $0) } ?? "" }

  private func find(_ url: String) throws -> [UInt8]? {
    let folder = try FlatFolder(path: target)
    return try Array(url.utf8).withBytes { (url) throws(CacheError) in try folder.body(ofURL: url, maximumBytes: 1 << 20) }
  }

  @Test("an export for apps names every image by its URL as first written", arguments: [false, true])
  func forApps(withExtension: Bool) throws {
    let cache = try makeCache(directory, maxAge: .seconds(1), clock: clock)
    let urls = (0..<300).map { "HTTPS://H.example/\($0).png?w=1" }
    try cache.write { (writer) throws(CacheError) in
      for (number, url) in urls.enumerated() {
        try writer.put("identity \(number)", body(number * 700, seed: UInt8(number % 250)), url: url)
      }
    }
    clock.advance(by: .seconds(60))
    var files: Set<String> = []
    let result = try cache.export(to: target, layout: .sdwebimage(withExtension: withExtension)) { event in
      if case .exported(_, let file, _) = event { files.insert(file) }
    }
    #expect(result.exported == 300 && result.bytes == (0..<300).reduce(0) { $0 + $1 * 700 })
    #expect(files == Set(urls.map { digits($0) + (withExtension ? ".png" : "") }))
    #expect(Set(ImageCachingTests.files(below: target)) == files, "and nothing else is left behind")
    for (number, url) in urls.enumerated() { #expect(try find(url) == body(number * 700, seed: UInt8(number % 250))) }
  }

  @Test("exported files get the umask's mode and the storage time, and replace existing ones") func modeAndTime() throws {
    let cache = try makeCache(directory, clock: clock)
    clock.advance(by: .milliseconds(-1_234_567))
    try cache.put("https://h/1.png", body(10))
    let name = "out/\(digits("https://h/1.png"))"
    directory.write(body(5000), to: name)
    chmod(directory.file(name), 0o600)
    directory.setModified(name, clock.source.wall().advanced(by: .seconds(3600)))
    waitForTick(after: name)
    try cache.export(to: target, layout: .sdwebimage(withExtension: false))
    #expect(directory.read(name) == body(10))
    #expect(directory.modified(name) == clock.source.wall())
    let (mask, status) = (umask(0o022), try #require(fileStatus(directory.file(name))))
    umask(mask)
    #expect(status.st_mode & 0o777 == 0o666 & ~mask)
  }

  /// Returns when a file that is made now is later than `name` by the file system's clock, whose ticks are milliseconds.
  private func waitForTick(after name: String) {
    let before = fileStatus(directory.file(name))?.st_ctim
    while true {
      directory.write("", to: "tick")
      guard let now = fileStatus(directory.file("tick"))?.st_ctim, let before else { return }
      if (now.tv_sec, now.tv_nsec) > (before.tv_sec, before.tv_nsec) { return }
    }
  }

  private func fileStatus(_ path: String) -> stat? {
    var status = stat()
    return stat(path, &status) == 0 ? status : nil
  }

  @Test(
    "an export skips and reports damaged images",
    arguments: [ImageCache.Access.readOnly, .readWrite]
  )
  func damaged(access: ImageCache.Access) throws {
    try makeCache(directory).put("https://h/bad.png", body(400_000))
    directory.damageBlob()
    try makeCache(directory).put("https://h/good.png", body(400_000))
    let cache = try makeCache(directory, access: access)
    var skipped: [ExportEvent] = []
    let result = try cache.export(to: target, layout: .urlPath) { if case .skipped = $0 { skipped.append($0) } }
    #expect(result.exported == 1 && result.damaged == 1)
    #expect(skipped == [.skipped(url: Array("https://h/bad.png".utf8), reason: .damaged(.wrongChecksum))])
    #expect(files(below: target) == ["h/good.png"])
    #expect(try cache.isFresh("https://h/bad.png"), "an export changes nothing in the cache")
  }

  @Test(
    "an export skips and counts images of URLs with credentials",
    arguments: [ExportLayout.sdwebimage(withExtension: false), .urlPath]
  )
  func credentials(layout: ExportLayout) throws {
    let cache = try makeCache(directory)
    try cache.put("1", body(10), url: "https://***@h/1.png")
    try cache.put("2", body(10), url: "https://h/2@3x.png")
    let result = try cache.export(to: target, layout: layout)
    #expect(result.exported == 1 && result.withCredentials == 1)
    #expect(files(below: target).count == 1)
  }

  @Test(
    "an export contains images replaced during it, and not those removed",
    arguments: [10, 400_000]
  )
  func replacedMeanwhile(size: Int) throws {
    let cache = try makeCache(directory)
    let urls = (0..<4).map { "https://h/\($0).png" }
    for url in urls { try cache.put(url, body(size)) }
    var exported: [String] = []
    let result = try cache.export(to: target, layout: .urlPath) { event in
      guard case .exported(let url, _, _) = event else { return }
      exported.append(String(decoding: url, as: UTF8.self))
      guard exported.count == 1 else { return }
      do throws(CacheError) {
        let others = urls.filter { $0 != exported[0] }
        _ = try cache.remove(others[0])
        for other in others[1...] { try cache.put(other, body(size, seed: 2)) }
      } catch {
        Issue.record(error)
      }
    }
    #expect(result.exported == 3 && result.damaged == 0)
    for url in exported {
      #expect(directory.read("out/h/\(url.dropFirst(10))") == body(size, seed: url == exported[0] ? 1 : 2))
    }
  }

  @Test("of several images of one URL, the export keeps the newest") func severalOfOneURL() throws {
    let cache = try makeCache(directory, clock: clock)
    for number in 0..<12 {
      try cache.put("identity \(number)", body(10 + number), url: "https://h/1.png")
      clock.advance(by: .seconds(1))
    }
    // Twice, since the files of an earlier export are no reason to leave anything out.
    for _ in 0..<2 {
      let result = try cache.export(to: target, layout: .sdwebimage(withExtension: false))
      #expect(result.exported + result.superseded == 12 && result.exported > 0)
      #expect(try find("https://h/1.png") == body(21))
    }
  }

  @Test(
    "a transformed image isn't exported as the image of its URL",
    arguments: [ExportLayout.sdwebimage(withExtension: false), .urlPath]
  )
  func transformed(layout: ExportLayout) throws {
    let cache = try makeCache(directory, clock: clock)
    // Several, since the order of their keys must not matter.
    for number in 0..<12 {
      let url = "https://h/\(number).png"
      try cache.put(url, body(10))
      clock.advance(by: .seconds(1))
      try cache.put("\(url)#transform=round", body(11), url: url)
    }
    try cache.put("asset#1", body(10), url: "https://h/filtered.png")
    let result = try cache.export(to: target, layout: layout)
    #expect(result.exported == 13 && result.transformed == 12 && result.superseded == 0)
    for file in files(below: target) { #expect(directory.read("out/\(file)") == body(10)) }
  }

  @Test("an export names a folder it cannot write to", arguments: ["/proc/none/out", "/dev/null/out"]) func noFolder(
    path: String
  ) throws {
    let cache = try makeCache(directory)
    try cache.put("https://h/1.png", body(10))
    do {
      try cache.export(to: path, layout: .urlPath)
      Issue.record("nothing can be exported there")
    } catch {
      guard case .cannotExport(let named, _) = error else { throw error }
      #expect(named == path)
    }
  }

  @Test("a full disk ends the export with an error and leaves no partial file", .mounting) func fullDisk() throws {
    let cache = try makeCache(directory)
    for number in 0..<30 { try cache.put("https://h/\(number).png", body(100_000, seed: UInt8(number))) }
    let mount = try TemporaryMount(byteCount: 1 << 20)
    var exported: [String] = []
    do {
      try cache.export(to: mount.directory.file("out"), layout: .urlPath) { event in
        if case .exported(_, let file, _) = event { exported.append(file) }
      }
      Issue.record("it cannot all fit")
    } catch {
      guard case .cannotExport(_, let reason) = error else { throw error }
      #expect(reason == "No space left on device")
    }
    #expect(!exported.isEmpty && files(below: mount.directory.file("out")) == exported.sorted())
    for file in exported { #expect(mount.directory.read("out/\(file)")?.count == 100_000) }
  }
}

@Suite struct URLPathNameTests {
  private func path(_ url: String) -> String {
    let digits = Array(url.utf8).withUnsafeBytes { AppFileName.digits(of: $0) } ?? ""
    return Array(url.utf8).withUnsafeBytes { URLPathName(url: $0, digits: digits).path }.replacing(digits, with: "#")
  }

  @Test(
    "a plain URL is exported under its own path",
    arguments: [
      ("https://img.example.com/a/1.jpg", "img.example.com/a/1.jpg"),
      ("https://h/a%20b.png", "h/a%20b.png"),
      ("http://h/1.png", "h:80/1.png"),
      ("http://h:8080/1.png", "h:8080/1.png"),
      ("http://[::1]:8080/1.png", "[::1]:8080/1.png"),
      ("https://h/a.d/1.png", "h/a.d~/1.png"),
      ("https://h/a~b/1.png", "h/a~b~/1.png"),
      ("https://h/1.png?w=100", "h/1~w=100~#.png"),
      ("https://h/1.png?", "h/1~#.png"),
      ("https://h/1.png#x", "h/1~#.png"),
      ("https://h/1~2.png", "h/1~2~#.png"),
      ("https://h/photo", "h/photo~#"),
      ("https://h/", "h/_~#"),
      ("https://h", "h/_~#"),
      ("https://h/a/../b.png", "h/a/_.~/b~#.png"),
      ("https://h//etc/passwd", "h/_/etc/passwd~#"),
      ("https://h/.hidden.png", "h/_hidden~#.png"),
      ("https://h/ä\\ \u{1}.png", "h/_____~#.png"),
      ("https://H/1.png", "h/1~#.png"),
      ("https://h:443/1.png", "h:443/1~#.png"),
      ("http://h:80/1.png", "h:80/1~#.png"),
      ("https://h/a.verylongextension", "h/a.verylongextension"),
      ("https://h/a.verylongextension?q", "h/a.verylongextension~q~#"),
    ]
  )
  func plain(url: String, expected: String) { #expect(path(url) == expected) }

  @Test("two URLs never share an exported file, no file is a folder, and no path leaves the export") func apart() {
    let hosts = [
      "https://h", "http://h", "https://h:80", "http://h:80", "https://h:443", "http://h:443", "https://H", "HTTPS://h",
      "ftp://h",
    ]
    let parts = [
      "", ".", "..", "a", "a.b", "a~", "a.b~", "a?", "a b", "a%20b", "_", "a.b?c=d", "a~c~", ".a", "ä", "A.b", "a.b/", "a.b/c.d",
      "a/b.c",
    ]
    var urls: Set<String> = []
    for host in hosts {
      for one in parts { for other in parts { urls.formUnion(["\(host)/\(one)", "\(host)/\(one)/\(other)"]) } }
    }
    for count in [100, 119, 120, 121, 250, 3000] { urls.insert("https://h/" + String(repeating: "x", count: count) + ".png") }
    urls.insert("https://h/" + String(repeating: "d/", count: 400) + "1.png")
    // Composed and decomposed letters are one text to Swift, and not one URL.
    var names: [String: [UInt8]] = [:]
    var folders: Set<String> = []
    for url in urls {
      let bytes = Array(url.utf8)
      let name = bytes.withUnsafeBytes { URLPathName(url: $0, digits: AppFileName.digits(of: $0) ?? "") }
      #expect(names[name.path] == nil, "\(url)")
      names[name.path] = bytes
      for count in name.folders.indices { folders.insert(name.folders[...count].joined(separator: "/")) }
      for part in name.folders + [name.file] {
        #expect(
          !part.isEmpty && !part.hasPrefix(".") && !part.utf8.contains(UInt8(ascii: "/")) && part.utf8.count <= 255,
          "\(url)"
        )
      }
      #expect(name.path.utf8.count < 2000)
    }
    #expect(names.count == urls.count)
    #expect(folders.isDisjoint(with: names.keys))
  }
}
