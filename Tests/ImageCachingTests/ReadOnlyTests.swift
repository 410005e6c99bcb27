import Foundation
import Glibc
import Base
import TestSupport
import Testing

@testable import ImageCaching

@Suite struct AppFileNameTests {
  private func candidates(_ url: String) -> [String] {
    Array(url.utf8).withUnsafeBytes { AppFileName.candidates(forURL: $0) } ?? []
  }

  private func name(_ url: String) -> String? {
    Array(url.utf8).withUnsafeBytes { url in AppFileName.digits(of: url).map { AppFileName.nameWithExtension($0, url) } }
  }

  @Test func `file names are the MD5 of the URL as written, as md5sum computes it`() {
    #expect(
      candidates("https://img.example.com/a/1.jpg") == [
        "f9278e662e52736f9bc5174b00bcad49", "f9278e662e52736f9bc5174b00bcad49.jpg",
      ]
    )
    #expect(
      candidates("https://img.example.com/a/1.jpg?w=100") == [
        "78f3fa0020d16f03f6ef8f83d4ae43f6", "78f3fa0020d16f03f6ef8f83d4ae43f6.jpg", "78f3fa0020d16f03f6ef8f83d4ae43f6.jpg?w=100",
      ],
      "the last is for text that Foundation doesn't accept as a URL"
    )
  }

  @Test(
    arguments: [
      "https://h/a.jpg", "https://h/a.tar.gz", "https://h/a", "https://h/", "https://h", "https://h.example/", "https://h/.jpg",
      "https://h/..jpg",
      "https://h/a.", "https://h/a.jpg/", "https://h/a.b/c", "https://h/a.jpg?x=1.png", "https://h/a.jpg#b.png",
      "https://h/a%2Ejpg",
      "https://h/a.j%70g", "https://h/a.j%20g", "https://h/a@2x.png", "https://h/a.PNG", "https://h:8080/a.webp",
      "https://h/%C3%A4.%C3%A4",
    ]
  )
  func `the file extension is the one that Foundation gives the URL`(url: String) throws {
    let expected = try #require(URL(string: url)).pathExtension
    let found = try #require(name(url))
    #expect(found.dropFirst(32) == (expected.isEmpty ? "" : ".\(expected)"))
  }

  @Test func `an extension above the length limit is dropped`() {
    let fits = String(repeating: "x", count: 222)
    #expect(name("https://h/a.\(fits)")?.dropFirst(32) == ".\(fits)")
    #expect(name("https://h/a.\(fits)x")?.count == 32)
    #expect(candidates("https://h/a.\(fits)x").count == 1)
  }

  @Test func `characters that the app's file system rejects are removed from the extension`() {
    #expect(name("https://h/a.j:p%00g")?.dropFirst(32) == ".jpg")
    #expect(name("https://h/a.b%2Fc")?.count == 32, "no extension leads to another folder")
    #expect(candidates("https://h/a.%FFjpg").allSatisfy { !$0.contains("\u{FFFD}") })
  }
}

@Suite struct ReadOnlyTests {
  let directory = TemporaryDirectory()

  private func find(_ folder: FlatFolder, _ url: String, maximumBytes: Int = 1000) throws(CacheError) -> [UInt8]? {
    try folder.file(ofURL: Array(url.utf8), maximumBytes: maximumBytes)?.bytes
  }

  @Test func `a flat folder is searched without extension, then with the URL's, then by the plain path's`() throws {
    let url = "https://h/a%2Ejpg.p%6Eg"
    let folder = try FlatFolder(path: directory.path)
    #expect(try find(folder, url) == nil)
    directory.write("plain", to: "\(digits(url)).p%6Eg")
    #expect(try find(folder, url) == Array("plain".utf8))
    directory.write("decoded", to: "\(digits(url)).png")
    #expect(try find(folder, url) == Array("decoded".utf8))
    directory.write("without", to: digits(url))
    #expect(try find(folder, url) == Array("without".utf8))
    #expect(try find(folder, "https://h/other.png") == nil)
  }

  @Test func `in a flat folder only regular files within the size limit count`() throws {
    let url = "https://h/1.png"
    let folder = try FlatFolder(path: directory.path)
    directory.write("secret", to: "elsewhere/secret")
    symlink(directory.file("elsewhere/secret"), directory.file(digits(url)))
    #expect(try find(folder, url) == nil, "links aren't followed")
    unlink(directory.file(digits(url)))
    mkfifo(directory.file(digits(url)), 0o644)
    #expect(try find(folder, url) == nil, "pipes don't block")
    unlink(directory.file(digits(url)))
    mkdir(directory.file(digits(url)), 0o755)
    directory.write("12345", to: "\(digits(url)).png")
    #expect(try find(folder, url) == Array("12345".utf8))
    #expect(try find(folder, url, maximumBytes: 5) == Array("12345".utf8))
    let tooLarge = CacheError.cannotRead(
      path: directory.file("\(digits(url)).png"),
      reason: "it has 5 bytes, more than the 4 allowed"
    )
    #expect(throws: tooLarge) { try find(folder, url, maximumBytes: 4) }
  }

  @Test func `a flat folder lists its images one by one`() throws {
    let name = digits("https://h/1.png")
    directory.write("123", to: name)
    directory.setModified(name, Timestamp(milliseconds: 1_700_000_000_123))
    directory.write("12", to: "\(name).png")
    for other in ["\(name).", "\(name)x", "\(name.dropLast())", name.uppercased() + ".", "README"] {
      directory.write("x", to: other)
    }
    var found: [FlatFolder.File] = []
    let folder = try FlatFolder(path: directory.path)
    try folder.forEachFile { (file) throws(CacheError) in
      found.append(file)
      return true
    }
    found.sort { $0.name < $1.name }
    #expect(found.map(\.name) == [name, "\(name).png"] && found.map(\.byteCount) == [3, 2])
    #expect(found.first?.modifiedAt == Timestamp(milliseconds: 1_700_000_000_123))
    var count = 0
    try folder.forEachFile { (_) throws(CacheError) in
      count += 1
      return false
    }
    #expect(count == 1)
  }

  @Test func `a path opens as a cache with its namespace, as a namespace's folder, or as a flat folder`() throws {
    let clock = ManualClock()
    try makeCache(directory, namespace: "pages", clock: clock).put("a", body(10))
    clock.advance(by: .seconds(365 * 86_400))
    for (path, namespace) in [(directory.path, "pages"), (directory.file("pages"), "any"), (directory.file("pages/"), "any")] {
      guard case .cache(let cache) = try ReadOnlyCache(opening: path, namespace: namespace, time: clock.source).store else {
        Issue.record("\(path) didn't open as a cache")
        continue
      }
      #expect(try cache.isFresh("a"), "it isn't renewed, so it doesn't expire")
      #expect(throws: CacheError.readOnly(path: cache.path)) { try cache.put("b", body(1)) }
    }
    #expect(throws: CacheError.missing(path: directory.file("other"))) {
      try ReadOnlyCache(opening: directory.path, namespace: "other")
    }
    #expect(throws: CacheError.missing(path: directory.file("none"))) {
      try ReadOnlyCache(opening: directory.file("none"), namespace: "a")
    }
    directory.write("x", to: "flat/VERSION")
    guard case .folder(let folder) = try ReadOnlyCache(opening: directory.file("flat"), namespace: "pages").store else {
      Issue.record("a folder without an index didn't open as a flat one")
      return
    }
    #expect(folder.path == directory.file("flat"))
    directory.write("2\n", to: "pages/VERSION")
    #expect(throws: CacheError.self) { try ReadOnlyCache(opening: directory.path, namespace: "pages") }
  }
}
