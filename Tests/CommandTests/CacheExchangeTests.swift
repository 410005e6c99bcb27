import Foundation
import TestOrigin
import TestSupport
import Testing

/// `prewarm cache export` and `prewarm cache import`.
@Suite struct CacheExchangeTests {
  private let origin = makeImageOrigin()

  @Test(arguments: [false, true]) func `an export uses the file names that an app looks for`(withExtension: Bool) async throws {
    let job = try await JobFolder.filled(from: origin)
    let options = withExtension ? "--with-extension" : "--layout sdwebimage"
    expectGolden(try await job.prewarm("cache export --to out/images --json \(options)").outputText)
    var names: Set<String> = []
    for (number, url) in imageURLs(origin, 0..<5).enumerated() {
      let name = try await md5(url) + (withExtension ? ".jpg" : "")
      #expect(job.folder.read("out/images/\(name)") == SampleImages.jpeg(number))
      names.insert(name)
    }
    #expect(Set(try FileManager.default.contentsOfDirectory(atPath: job.folder.file("out/images"))) == names)
  }

  @Test func `images are laid out like their URLs by default`() async throws {
    let job = try await JobFolder.filled(from: origin)
    let result = try await job.prewarm("cache export --to out")
    #expect(result.status == 0 && result.error.isEmpty)
    expectGolden(result.outputText.lines(with: "5 images"))
    for number in 0..<5 {
      #expect(job.folder.read("out/127.0.0.1:\(origin.port)/images/\(number).jpg") == SampleImages.jpeg(number))
    }
  }

  @Test func `images that cannot be exported are reported, and the rest is exported`() async throws {
    let secret = "http://user:geheim@127.0.0.1:\(origin.port)/images/7.jpg"
    let job = JobFolder(urls: imageURLs(origin, 0..<3) + [secret])
    #expect(try await job.runJob().status == 0)
    expectGolden(try await job.prewarm("cache export --to out --json").outputText, for: "json")
    try job.flipByte(of: SampleImages.jpeg(1))
    let result = try await job.prewarm("cache export --to again")
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
    let originals = try await job.prewarm("cache export --to d")
    expectGolden(originals.outputText)
    #expect(try job.folder.files(below: "d").map { $0.suffix(4) } == [".jpg", ".png"])
    job.folder.write("version: 1\nname: plain\nmanifests: [{path: urls.txt}]\n", to: "plain.yaml")
    let refused = try await job.prewarm("cache export --to e --job plain.yaml --transformed")
    #expect(refused.status == 3)
    expectGolden(refused.errorText)
  }

  @Test func `--job exports the URLs of that job's lists only, fetched lists too, and --delete follows the lists`() async throws {
    let job = try await JobFolder.filled(from: origin)
    origin.set(
      "/list.txt",
      .body(Array((imageURLs(origin, 0..<2) + [origin.url("/images/77.jpg")]).joined(separator: "\n").utf8), type: "text/plain")
    )
    job.folder.write("version: 1\nname: part\nmanifests: [{url: '\(origin.url("/list.txt"))'}]\n", to: "part.yaml")
    let part = try await job.prewarm("cache export --to out --job part.yaml")
    #expect(part.status == 0, "\(part.errorText)")
    expectGolden(part.outputText)
    let base = "127.0.0.1:\(origin.port)/images"
    #expect(try job.folder.files(below: "out") == ["\(base)/0.jpg", "\(base)/1.jpg"])

    #expect(try await job.prewarm("cache export --to out").status == 0)
    #expect(try job.folder.files(below: "out").count == 5)
    job.folder.write("not an image", to: "out/\(base)/notes.txt")
    let deleting = try await job.prewarm("cache export --to out --job part.yaml --delete")
    #expect(deleting.status == 0)
    expectGolden(deleting.outputText)
    #expect(try job.folder.files(below: "out") == ["\(base)/0.jpg", "\(base)/1.jpg", "\(base)/notes.txt"])

    // An empty or failed list must not delete everything.
    origin.set("/list.txt", .body(Array("# empty\n".utf8), type: "text/plain"))
    let empty = try await job.prewarm("cache export --to out --job part.yaml --delete")
    #expect(empty.status == 1)
    expectGolden(empty.errorText)
    origin.set("/list.txt", .status(404))
    let broken = try await job.prewarm("cache export --to out --job part.yaml --delete")
    #expect(broken.status == 1, "\(broken.outputText)\(broken.errorText)")
    #expect(try job.folder.files(below: "out").count == 3)
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
    job.folder.write("id,image\n" + zip(ids, paths).map { "\($0),\(origin.url($1))\n" }.joined(), to: "urls.csv")
    #expect(try await job.runJob().status == 0)
    for (folder, name) in [("named", "{id}.{ext}"), ("paths", "{host}/{path}")] {
      let options = ["--name", name, "--map", "\(folder).jsonl", "--nginx-map", "\(folder).map"]
      let result = try await job.start(["cache", "export", "--job", "job.yaml", "--to", folder] + options).wait()
      #expect(result.status == 0, "\(result.errorText)")
      if name == "{id}.{ext}" { expectGolden(result.outputText) }
      let rows = job.folder.text("\(folder).jsonl").split(separator: "\n")
      let files = Set(try job.folder.files(below: folder))
      #expect(rows.count == paths.count && files.count == paths.count)
      let nginx = try await Nginx(
        serving: job.folder.file(folder),
        directives: "location / { try_files /$prewarm_file =404; }",
        httpDirectives: "include \(job.folder.file("\(folder).map"));"
      )
      for path in paths {
        let arguments = ["--silent", "--fail", "--globoff", "--path-as-is", "--header", "Host: 127.0.0.1:\(origin.port)"]
        let answer = try await Command("/usr/bin/curl", arguments + [nginx.url(path)]).wait()
        #expect(answer.status == 0 && answer.output.count > SampleImages.jpeg(0).count, "\(path)")
        #expect(answer.output.suffix(path.utf8.count).elementsEqual(path.utf8), "\(path)")
      }
    }
  }

  // MARK: `prewarm cache import`.

  @Test func `images imported from another cache need no download`() async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<6))
    #expect(try await job.runJob("--cache-directory other").totals["downloaded"] == 6)
    // The import creates the cache.
    expectGolden(try await job.prewarm("cache import other --json").outputText, for: "json")
    #expect(try await job.expectTrueTotals().count == 6)
    #expect(try await job.runJob().totals["hit_disk"] == 6)
    #expect(origin.requests.count == 6)
    let again = try await job.prewarm("cache import other/default")
    #expect(again.status == 0)
    expectGolden(again.outputText)
  }

  @Test func `exported files are imported by their URLs, and other files are skipped`() async throws {
    let urls = imageURLs(origin, 0..<5)
    let job = try await JobFolder.warmed(urls: urls)
    #expect(try await job.prewarm("cache export --layout sdwebimage --to app").status == 0)
    job.folder.write("<!doctype html>", to: "app/\(try await md5(urls[4]))")
    #expect(try await job.prewarm("cache clear").status == 0)
    job.write(urls: urls + [origin.url("/elsewhere.jpg"), "no url"], to: "more.txt")

    let result = try await job.prewarm("cache import app --urls more.txt")
    #expect(result.status == 1 && result.outputText.hasPrefix("4 images, "), "\(result.outputText)\(result.errorText)")
    expectGolden(result.outputText, for: "output")
    expectGolden(result.errorText.lines(with: urls[4]), for: "unusable")
    expectGolden(result.errorText.lines(with: "of the lists"), for: "skipped")
    let listed = try await job.expectTrueTotals()
    #expect(listed.allSatisfy { $0.format == "jpeg" && $0.width == 32 && $0.proof == "header" })
    let run = try await job.runJob()
    #expect(run.totals["hit_disk"] == 4 && run.totals["downloaded"] == 1)
  }

  @Test func `a job's manifests can provide the URLs`() async throws {
    let job = try await JobFolder.warmed(urls: imageURLs(origin, 0..<3))
    #expect(try await job.prewarm("cache export --with-extension --to app").status == 0)
    #expect(try await job.prewarm("cache clear").status == 0)
    expectGolden(try await job.prewarm("cache import app --job job.yaml --json").outputText, for: "job")
    let input = imageURLs(origin, 0..<4).joined(separator: "\n")
    let piped = try await job.prewarm("cache import app --urls - --json", input: .bytes(Array(input.utf8)))
    expectGolden(piped.outputText, for: "list")
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
