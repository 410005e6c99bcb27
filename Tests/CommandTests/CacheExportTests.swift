import Foundation
import TestOrigin
import TestSupport
import Testing

/// `prewarm cache export`.
@Suite struct CacheExportTests {
  struct Row: Decodable, Equatable {
    let directory: String
    let exportedEntries: Int
    let exportedBytes: Int
    let damagedEntries: Int
    let entriesWithCredentials: Int
    let supersededEntries: Int
  }

  @Test(arguments: [false, true]) func `an export uses the file names that an app looks for`(withExtension: Bool) async throws {
    let origin = try makeImageOrigin()
    let job = try await JobFolder.filled(from: origin)
    let options = withExtension ? ["--with-extension"] : ["--layout", "sdwebimage"]
    let row: Row = try await job.start(["cache", "export", "--to", "out/images", "--json"] + options).wait().row()
    #expect(row.directory == "out/images" && row.exportedEntries == 5)
    #expect(row.exportedBytes == (0..<5).reduce(0) { $0 + SampleImages.jpeg($1).count })
    var names: Set<String> = []
    for (number, url) in imageURLs(origin, 0..<5).enumerated() {
      let name = try await md5(url) + (withExtension ? ".jpg" : "")
      #expect(job.folder.read("out/images/\(name)") == SampleImages.jpeg(number))
      names.insert(name)
    }
    #expect(Set(try FileManager.default.contentsOfDirectory(atPath: job.folder.file("out/images"))) == names)
  }

  @Test func `the URL as first written names the file, not the normalised one`() async throws {
    let origin = try makeImageOrigin()
    let written = "HTTP://127.0.0.1:\(origin.port)/images/1.jpg#top"
    let job = JobFolder(urls: [written])
    #expect(try await job.runJob().status == 0)
    #expect(try await job.prewarm("cache", "export", "--layout", "sdwebimage", "--to", "out").status == 0)
    #expect(job.folder.read("out/\(try await md5(written))") == SampleImages.jpeg(1))
  }

  @Test func `images are laid out like their URLs by default`() async throws {
    let origin = try makeImageOrigin()
    let job = try await JobFolder.filled(from: origin)
    let result = try await job.prewarm("cache", "export", "--to", "out")
    #expect(result.status == 0 && result.error.isEmpty)
    expectGolden(result.outputText.lines(with: "5 images"))
    for number in 0..<5 {
      #expect(job.folder.read("out/127.0.0.1:\(origin.port)/images/\(number).jpg") == SampleImages.jpeg(number))
    }
  }

  @Test func `images that cannot be exported are reported, and the rest is exported`() async throws {
    let origin = try makeImageOrigin()
    let secret = "http://user:geheim@127.0.0.1:\(origin.port)/images/7.jpg"
    let job = JobFolder(urls: imageURLs(origin, 0..<3) + [secret])
    #expect(try await job.runJob().status == 0)
    let good: Row = try await job.prewarm("cache", "export", "--to", "out", "--json").row()
    #expect(good.exportedEntries == 3 && good.entriesWithCredentials == 1)
    try job.flipByte(of: SampleImages.jpeg(1))
    let result = try await job.prewarm("cache", "export", "--to", "again")
    #expect(result.status == 1, "\(result.outputText)")
    expectGolden(result.outputText, for: "output")
    expectGolden(result.errorText, for: "error")
    #expect(!(result.outputText + result.errorText).contains("geheim"))
    #expect(try job.folder.files(below: "again").count == 2)
  }

  /// An origin of real images, and a job that resizes them to WebP.
  private func resizing(_ names: [String]) async throws -> (Origin, JobFolder) {
    let origin = try Origin()
    origin.setFallback { request in
      let name = String(request.path.dropFirst())
      let type = name.hasSuffix(".jpg") ? "image/jpeg" : "image/png"
      return .body(Fixtures.bytes("images/good/\(name == "photo.png" ? "rgb.png" : name)"), type: type)
    }
    let transform = "transform: {resize: {width: 40}, format: webp, keep-original: true}"
    let job = JobFolder(urls: names.map { origin.url("/\($0)") }, keys: transform)
    #expect(try await job.runJob().status == 0)
    return (origin, job)
  }

  @Test func `resized images are exported by their job, or by --transformed, with the extension of their format`() async throws {
    let (origin, job) = try await resizing(["photo.jpg", "rgb.png"])
    let expected = ["photo.webp", "rgb.webp"].map { "127.0.0.1:\(origin.port)/\($0)" }
    for (folder, options) in [
      ("a", ["--job", "job.yaml"]), ("b", ["--transformed"]), ("c", ["--job", "job.yaml", "--transformed"]),
    ] {
      let result = try await job.start(["cache", "export", "--to", folder] + options).wait()
      #expect(result.status == 0 && result.outputText.hasPrefix("2 images"), "\(result.outputText)\(result.errorText)")
      #expect(try job.folder.files(below: folder) == expected)
      for name in expected { #expect(job.folder.read("\(folder)/\(name)")?.dropFirst(8).starts(with: "WEBP".utf8) == true) }
    }
    let originals = try await job.prewarm("cache", "export", "--to", "d")
    expectGolden(originals.outputText)
    #expect(try job.folder.files(below: "d").map { $0.suffix(4) } == [".jpg", ".png"])
    job.folder.write("version: 1\nname: plain\nmanifests: [{path: urls.txt}]\n", to: "plain.yaml")
    let refused = try await job.prewarm("cache", "export", "--to", "e", "--job", "plain.yaml", "--transformed")
    #expect(refused.status == 3)
    expectGolden(refused.errorText)
  }

  @Test func `two URLs with one path are reported, and exit with 1`() async throws {
    let (_, job) = try await resizing(["photo.jpg", "photo.png"])
    let result = try await job.prewarm("cache", "export", "--to", "out", "--job", "job.yaml")
    #expect(result.status == 1 && result.outputText.hasPrefix("1 image"), "\(result.outputText)")
    #expect(
      result.errorText.contains("photo.jpg") && result.errorText.contains("photo.png") && result.errorText.contains("photo.webp")
    )
    #expect(try job.folder.files(below: "out").count == 1)
  }

  @Test func `--job exports the URLs of that job's lists only, fetched lists too, and --delete follows the lists`() async throws {
    let origin = try makeImageOrigin()
    let job = try await JobFolder.filled(from: origin)
    origin.set(
      "/list.txt",
      .body(Array((imageURLs(origin, 0..<2) + [origin.url("/images/77.jpg")]).joined(separator: "\n").utf8), type: "text/plain")
    )
    job.folder.write("version: 1\nname: part\nmanifests: [{url: '\(origin.url("/list.txt"))'}]\n", to: "part.yaml")
    let part = try await job.prewarm("cache", "export", "--to", "out", "--job", "part.yaml")
    #expect(part.status == 0, "\(part.errorText)")
    expectGolden(part.outputText)
    let base = "127.0.0.1:\(origin.port)/images"
    #expect(try job.folder.files(below: "out") == ["\(base)/0.jpg", "\(base)/1.jpg"])

    #expect(try await job.prewarm("cache", "export", "--to", "out").status == 0)
    #expect(try job.folder.files(below: "out").count == 5)
    job.folder.write("not an image", to: "out/\(base)/notes.txt")
    let deleting = try await job.prewarm("cache", "export", "--to", "out", "--job", "part.yaml", "--delete")
    #expect(deleting.status == 0)
    expectGolden(deleting.outputText)
    #expect(try job.folder.files(below: "out") == ["\(base)/0.jpg", "\(base)/1.jpg", "\(base)/notes.txt"])

    // An empty or failed list must not delete everything.
    origin.set("/list.txt", .body(Array("# empty\n".utf8), type: "text/plain"))
    let empty = try await job.prewarm("cache", "export", "--to", "out", "--job", "part.yaml", "--delete")
    #expect(empty.status == 1)
    expectGolden(empty.errorText)
    origin.set("/list.txt", .status(404))
    let broken = try await job.prewarm("cache", "export", "--to", "out", "--job", "part.yaml", "--delete")
    #expect(broken.status == 1, "\(broken.outputText)\(broken.errorText)")
    #expect(try job.folder.files(below: "out").count == 3)
  }

  @Test func `an image that isn't cached counts once, even if two lists name it`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder("manifests: [{path: urls.txt}, {path: more.txt}]")
    for list in ["urls.txt", "more.txt"] { job.write(urls: imageURLs(origin, 0..<1), to: list) }
    #expect(try await job.runJob().status == 0)
    for list in ["urls.txt", "more.txt"] { job.write(urls: imageURLs(origin, 0..<3), to: list) }
    let result = try await job.prewarm("cache", "export", "--job", "job.yaml", "--to", "out")
    #expect(result.outputText.contains("; 2 images of the job not cached"), "\(result.outputText)")
  }

  @Test func `a pattern with ids names files, no URL is lost, and nginx serves each URL by the map, query and case included`()
    async throws
  {
    let origin = try Origin()
    origin.setFallback { .body(SampleImages.jpeg(0) + Array($0.target.utf8), type: "image/jpeg") }
    let paths = [
      "/a.jpg", "/A.jpg", "/img?id=7&w=100", "/img?id=7&w=200", "/d%20e.jpg", "/b.jpg", "/q.jpg?x=%22&y=\\z", "/$uri.jpg?",
    ]
    let ids = ["1", "1", "3", "4", "../5", "", "7", "8"]
    let job = JobFolder("manifests: [{path: urls.csv, columns: {url: image, id: id}}]")
    job.folder.write(
      "id,image\n" + zip(ids, paths).map { "\($0),\(origin.url($1))\n" }.joined(),
      to: "urls.csv"
    )
    #expect(try await job.runJob().status == 0)
    for (folder, name) in [("named", "{id}.{ext}"), ("paths", "{host}/{path}")] {
      let options = ["--name", name, "--map", "\(folder).jsonl", "--nginx-map", "\(folder).map"]
      let result = try await job.start(["cache", "export", "--job", "job.yaml", "--to", folder] + options).wait()
      #expect(result.status == 0, "\(result.errorText)")
      if name == "{id}.{ext}" { expectGolden(result.outputText) }
      let rows = String(decoding: try #require(job.folder.read("\(folder).jsonl")), as: UTF8.self).split(separator: "\n")
      let files = Set(try job.folder.files(below: folder))
      #expect(rows.count == paths.count && files.count == paths.count)
      let port = UInt16.random(in: 20_000..<30_000)
      job.folder.write(
        """
        daemon off; master_process off; error_log \(job.folder.file("nginx.log")); pid \(job.folder.file("nginx.pid"));
        events {}
        http {
          access_log off;
          include \(job.folder.file("\(folder).map"));
          server { listen 127.0.0.1:\(port); root \(job.folder.file(folder)); location / { try_files /$prewarm_file =404; } }
        }
        """,
        to: "nginx.conf"
      )
      let test = try await Command("/usr/sbin/nginx", ["-t", "-c", job.folder.file("nginx.conf")]).wait()
      #expect(test.status == 0, "\(test.errorText)")
      let server = try Command("/usr/sbin/nginx", ["-c", job.folder.file("nginx.conf")])
      defer { server.send(SIGTERM) }
      for path in paths {
        let answer = try await Command(
          "/usr/bin/curl",
          [
            "--silent", "--fail", "--globoff", "--retry", "50", "--retry-connrefused", "--retry-delay", "0", "--path-as-is",
            "--header", "Host: 127.0.0.1:\(origin.port)", "http://127.0.0.1:\(port)\(path)",
          ]
        ).wait()
        #expect(answer.status == 0 && answer.output.count > SampleImages.jpeg(0).count, "\(path)")
        #expect(answer.output.suffix(path.utf8.count).elementsEqual(path.utf8), "\(path)")
      }
    }
    for options in [["--name", "{ext}"], ["--name", "{id}"], ["--name", "../{hash}"], ["--name", "{hash}", "--delete"]] {
      #expect(try await job.start(["cache", "export", "--to", "none"] + options).wait().status == 3, "\(options)")
    }
  }

  @Test func `a symbolic link in the folder is rejected`() async throws {
    let origin = try makeImageOrigin()
    let job = try await JobFolder.filled(from: origin)
    job.folder.write("", to: "outside/x")
    job.folder.write("", to: "out/x")
    try FileManager.default.createSymbolicLink(
      atPath: job.folder.file("out/127.0.0.1:\(origin.port)"),
      withDestinationPath: job.folder.file("outside")
    )
    let result = try await job.prewarm("cache", "export", "--to", "out")
    #expect(result.status == 1 && result.errorText.contains("out/127.0.0.1:\(origin.port): "), "\(result.errorText)")
    #expect(try job.folder.files(below: "outside") == ["x"])
  }

  @Test func `nothing is exported if the folder can't be created`() async throws {
    let origin = try makeImageOrigin()
    let job = try await JobFolder.filled(from: origin)
    job.folder.write("in the way", to: "out")
    let result = try await job.prewarm("cache", "export", "--to", "out/images")
    #expect(result.status == 1 && result.output.isEmpty)
    expectGolden(result.errorText)
  }
}

extension TemporaryDirectory {
  /// The paths of all files below a folder of it, sorted.
  func files(below name: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: file(name)).filter { path in
      var isFolder: ObjCBool = false
      return FileManager.default.fileExists(atPath: "\(file(name))/\(path)", isDirectory: &isFolder) && !isFolder.boolValue
    }.sorted()
  }
}

/// The MD5 of a text in hexadecimal digits, by coreutils.
func md5(_ text: String) async throws -> String {
  let result = try await Command("/usr/bin/md5sum", input: .bytes(Array(text.utf8))).wait()
  return String(result.outputText.prefix { $0 != " " })
}
