import Glibc
import Base
import TestSupport
import Testing

@testable import ImageCaching

@Suite struct ExportTests {
  let directory = TemporaryDirectory()
  let clock = ManualClock()
  private var target: String { directory.file("out") }

  private func find(_ url: String) throws -> [UInt8]? {
    try FlatFolder(path: target).file(ofURL: Array(url.utf8), maximumBytes: 1 << 20)?.bytes
  }

  /// Exports and removes others; returns the totals, and the events of skipped images and removed files.
  private func update(_ cache: ImageCache, _ layout: ExportLayout = .urlPath, of images: [FlatImage]? = nil) throws -> (
    result: ExportResult, events: [ExportEvent]
  ) {
    var events: [ExportEvent] = []
    func note(_ event: ExportEvent) { if case .exported = event { return } else { events.append(event) } }
    let result =
      if let images {
        try cache.export(images, to: target, layout: layout, onEntry: note, removesOthers: { _ in true })
      } else { try cache.export(to: target, layout: layout, onEntry: note, removesOthers: { _ in true }) }
    return (result, events)
  }

  @Test(arguments: [false, true])
  func `an export for apps names every image by its URL as first written`(withExtension: Bool) throws {
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
      if case .exported(_, _, let file, _) = event { files.insert(file) }
    }
    #expect(result.exported == 300 && result.bytes == (0..<300).reduce(0) { $0 + $1 * 700 })
    #expect(files == Set(urls.map { digits($0) + (withExtension ? ".png" : "") }))
    #expect(Set(ImageCachingTests.files(below: target)) == files, "no other files remain")
    for (number, url) in urls.enumerated() { #expect(try find(url) == body(number * 700, seed: UInt8(number % 250))) }
  }

  @Test func `exported files get the umask's mode and the storage time, and replace existing ones`() throws {
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

  /// Waits until a new file would be later than `name` by the file system's clock, which ticks in milliseconds.
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

  @Test(arguments: [ImageCache.Access.readOnly, .readWrite])
  func `an export skips and reports damaged images`(access: ImageCache.Access) throws {
    try makeCache(directory).put("https://h/bad.png", body(400_000))
    directory.damageBlob()
    try makeCache(directory).put("https://h/good.png", body(400_000))
    let cache = try makeCache(directory, access: access)
    let (result, events) = try update(cache)
    #expect(result.exported == 1 && result.damaged == 1)
    #expect(events == [.skipped(url: Array("https://h/bad.png".utf8), reason: .damaged(.wrongChecksum))])
    #expect(files(below: target) == ["h/good.png"])
    #expect(try cache.isFresh("https://h/bad.png"), "an export changes nothing in the cache")
  }

  @Test(arguments: [ExportLayout.sdwebimage(withExtension: false), .urlPath])
  func `an export skips and counts images of URLs with credentials`(layout: ExportLayout) throws {
    let cache = try makeCache(directory)
    try cache.put("1", body(10), url: "https://***@h/1.png")
    try cache.put("2", body(10), url: "https://h/2@3x.png")
    let result = try cache.export(to: target, layout: layout)
    #expect(result.exported == 1 && result.withCredentials == 1)
    #expect(files(below: target).count == 1)
  }

  @Test(arguments: [10, 400_000])
  func `an export contains images replaced during it, and not those removed`(size: Int) throws {
    let cache = try makeCache(directory)
    let urls = (0..<4).map { "https://h/\($0).png" }
    for url in urls { try cache.put(url, body(size)) }
    var exported: [String] = []
    let result = try cache.export(to: target, layout: .urlPath) { event in
      guard case .exported(let url, _, _, _) = event else { return }
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

  @Test func `of several images of one URL, the export keeps the newest`() throws {
    let cache = try makeCache(directory, clock: clock)
    for number in 0..<12 {
      try cache.put("identity \(number)", body(10 + number), url: "https://h/1.png")
      clock.advance(by: .seconds(1))
    }
    // Twice, since files of an earlier export must not cause entries to be skipped.
    for _ in 0..<2 {
      let result = try cache.export(to: target, layout: .sdwebimage(withExtension: false))
      #expect(result.exported == 1 && result.superseded == 11 && result.bytes == 21)
      #expect(try find("https://h/1.png") == body(21))
    }
  }

  @Test(arguments: [ExportLayout.sdwebimage(withExtension: false), .urlPath])
  func `a transformed image isn't exported as the image of its URL`(layout: ExportLayout) throws {
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

  @Test func `resized images get the extension of their own format, and URLs with one path are reported`() throws {
    let cache = try makeCache(directory, clock: clock)
    // All are in PNG format.
    let urls = [
      "https://h/a.jpg", "https://h/b.PNG", "https://h/c.php", "https://h/d", "https://h/e.webp?w=1", "https://h/a.gif",
    ]
    for (seed, url) in urls.enumerated() {
      clock.advance(by: .seconds(1))
      try cache.put(url, body(10))
      try cache.put("\(url)#transform=resize", body(11, seed: UInt8(seed)), url: url)
    }
    var collisions: [ExportEvent] = []
    let result = try cache.export(to: target, layout: .urlPath, images: .transformed) { event in
      if case .skipped = event { collisions.append(event) }
    }
    #expect(result.exported == 5 && result.collisions == 1 && result.superseded == 0 && result.bytes == 55)
    #expect(
      collisions == [
        .skipped(
          url: Array("https://h/a.jpg".utf8),
          reason: .collision(with: Array("https://h/a.gif".utf8), file: "h/a.png")
        )
      ]
    )
    let names = ["a.png", "b.PNG", "c.php.png", "d~\(digits("https://h/d")).png", "e~w=1~\(digits("https://h/e.webp?w=1")).png"]
    #expect(files(below: target) == names.map { "h/\($0)" }.sorted())
    #expect(directory.modified("out/h/a.png") == clock.source.wall())
    // Apps look for the URL's own extension.
    let flat = directory.file("flat")
    try cache.export(to: flat, layout: .sdwebimage(withExtension: true), images: .transformed) { _ in }
    #expect(files(below: flat).contains("\(digits("https://h/a.jpg")).jpg"))
  }

  private func images(_ urls: [String]) -> [FlatImage] { urls.map { FlatImage(url: Array($0.utf8), identity: Array($0.utf8)) } }

  @Test func `removing others keeps the files of given images that aren't cached any more, whatever their format`() throws {
    let cache = try makeCache(directory)
    let urls = ["https://h/1.png", "https://h/2.png", "https://h/3.png"]
    for url in urls { try cache.put(url, png(seed: 1)) }
    try cache.export(to: target, layout: .urlPath)
    directory.write(png(seed: 2), to: "out/h/2.webp")
    for url in urls.dropFirst() { _ = try cache.remove(url) }
    let (result, _) = try update(cache, of: images(urls.prefix(2) + [urls[0]]))
    #expect(result.exported == 1 && result.missing == 1 && result.removed == 1 && result.superseded == 0)
    #expect(files(below: target) == ["h/1.png", "h/2.png", "h/2.webp"])
  }

  @Test func `a file that has the image's bytes already is kept as it is`() throws {
    let cache = try makeCache(directory)
    for number in 0..<2 { try cache.put("https://h/\(number).png", png(seed: UInt8(number))) }
    try cache.export(to: target, layout: .urlPath)
    func inodes() -> [ino_t?] { (0..<2).map { fileStatus(directory.file("out/h/\($0).png"))?.st_ino } }
    let before = inodes()
    // The second file's bytes differ, but not its length.
    var changed = png(seed: 1)
    changed[changed.count - 1] ^= 1
    directory.write(changed, to: "out/h/1.png")
    let written = inodes()
    try cache.export(to: target, layout: .urlPath)
    #expect(inodes()[0] == before[0] && inodes()[1] != written[1])
    #expect(directory.read("out/h/1.png") == png(seed: 1))
  }

  @Test func `removing others removes only image files that an export would write and this one didn't`() throws {
    let cache = try makeCache(directory, access: .readWrite)
    let urls = ["https://h/1.png", "https://h/old/2.png", "https://img.example.com/a/3.png", "https://h/5"]
    for url in urls { try cache.put(url, png(seed: 1)) }
    try cache.export(to: target, layout: .urlPath)
    for url in urls.dropFirst() { _ = try cache.remove(url) }
    // Files that the export must not remove.
    let kept = [
      "h/notes.txt", "h/photo", "h/.hidden.png", "h/a.d/4.png", "site/logo.png", "logo.png", "h/old/page.html",
    ]
    for name in kept { directory.write(png(seed: 2), to: "out/\(name)") }
    directory.write("not an image", to: "out/h/notes.txt")
    directory.write("<html>", to: "out/h/old/page.html")
    directory.write(png(seed: 2), to: "elsewhere/6.png")
    symlink(directory.file("elsewhere"), directory.file("out/link.example.com"))
    symlink(directory.file("elsewhere/6.png"), directory.file("out/h/6.png"))

    var asked = 0
    let spared = try cache.export(
      to: target,
      layout: .urlPath,
      onEntry: { _ in },
      removesOthers: {
        asked += 1
        #expect($0.exported == 1)
        return false
      }
    )
    #expect(asked == 1 && spared.removed == 0)
    let (result, events) = try update(cache)
    let removed = events.compactMap { if case .removed(let file) = $0 { file } else { nil } }
    #expect(result.removed == 3 && result.exported == 1)
    #expect(removed.sorted() == ["h/5~\(digits("https://h/5"))", "h/old/2.png", "img.example.com/a/3.png"].sorted())
    #expect(files(below: target).filter { !$0.contains("6.png") && !$0.contains("link") } == (kept + ["h/1.png"]).sorted())
    #expect(access(directory.file("out/img.example.com"), F_OK) != 0, "a folder that became empty is removed too")
    #expect(directory.read("elsewhere/6.png") == png(seed: 2))
  }

  @Test func `removing others spares the file of a damaged image`() throws {
    try makeCache(directory).put("https://h/bad.png", png(seed: 1) + body(400_000))
    try makeCache(directory).export(to: target, layout: .urlPath)
    directory.damageBlob()
    try makeCache(directory).put("https://h/good.png", body(10))
    let (result, _) = try update(makeCache(directory))
    #expect(result.damaged == 1 && result.removed == 0)
    #expect(files(below: target) == ["h/bad.png", "h/good.png"])
  }

  @Test func `in a flat folder, removing others removes only files named by hashes`() throws {
    let cache = try makeCache(directory)
    for url in ["https://h/1.png", "https://h/2.png"] { try cache.put(url, png(seed: 1)) }
    try cache.export(to: target, layout: .sdwebimage(withExtension: false))
    _ = try cache.remove("https://h/2.png")
    directory.write(png(seed: 2), to: "out/logo.png")
    #expect(try update(cache, .sdwebimage(withExtension: false)).result.removed == 1)
    #expect(files(below: target) == [digits("https://h/1.png"), "logo.png"].sorted())
  }

  /// Bytes that start with PNG's signature.
  private func png(seed: UInt8) -> [UInt8] { [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + body(20, seed: seed) }

  @Test(arguments: ["h", "h/a", "h/a/1.png"])
  func `a symbolic link below the folder is rejected, and nothing is written outside`(name: String) throws {
    let cache = try makeCache(directory)
    try cache.put("https://h/a/1.png", body(10))
    directory.write("theirs", to: "outside/a/1.png")
    directory.write("", to: "out/h/a/x")
    unlink(directory.file("out/h/a/x"))
    rmdir(directory.file("out/h/a"))
    if name == "h" { rmdir(directory.file("out/h")) }
    if name == "h/a/1.png" { mkdir(directory.file("out/h/a"), 0o755) }
    #expect(symlink(directory.file(name == "h/a/1.png" ? "outside/a/1.png" : "outside"), directory.file("out/\(name)")) == 0)
    do {
      let result = try cache.export(to: target, layout: .urlPath)
      // A link with the file's own name is replaced.
      #expect(name == "h/a/1.png" && result.exported == 1 && directory.read("out/\(name)") == body(10))
    } catch {
      #expect(error == .linkInExport(path: "\(target)/\(name)"))
    }
    #expect(files(below: directory.file("outside")) == ["a/1.png"] && directory.read("outside/a/1.png") == Array("theirs".utf8))
    #expect(!files(below: target).contains { $0.contains("prewarm-export") })
  }

  @Test func `the folder of an export may be a link itself`() throws {
    let cache = try makeCache(directory)
    try cache.put("https://h/1.png", body(10))
    directory.write("", to: "real/x")
    symlink(directory.file("real"), target)
    #expect(try cache.export(to: target, layout: .urlPath).exported == 1)
    #expect(directory.read("real/h/1.png") == body(10))
  }

  @Test(arguments: ["/proc/none/out", "/dev/null/out"]) func `an export names a folder it cannot write to`(
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

  @Test(.mounting) func `a full disk ends the export with an error and leaves no partial file`() throws {
    let cache = try makeCache(directory)
    for number in 0..<30 { try cache.put("https://h/\(number).png", body(100_000, seed: UInt8(number))) }
    let mount = try TemporaryMount(byteCount: 1 << 20)
    var exported: [String] = []
    do {
      try cache.export(to: mount.directory.file("out"), layout: .urlPath) { event in
        if case .exported(_, _, let file, _) = event { exported.append(file) }
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
    let digits = digits(url)
    return Array(url.utf8).withUnsafeBytes { URLPathName(url: $0, digits: digits).path }.replacing(digits, with: "#")
  }

  @Test(
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
  func `a plain URL is exported under its own path`(url: String, expected: String) { #expect(path(url) == expected) }

  @Test func `two URLs never share an exported file, no file is a folder, and no path leaves the export`() {
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
    // Composed and decomposed letters are equal as Swift strings, but not as URLs.
    var names: [String: [UInt8]] = [:]
    var folders: Set<String> = []
    for url in urls {
      let bytes = Array(url.utf8)
      let name = bytes.withUnsafeBytes { URLPathName(url: $0, digits: digits(url)) }
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
