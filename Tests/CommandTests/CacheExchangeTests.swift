import Foundation
import TestOrigin
import TestSupport
import Testing

/// `prewarm cache export` and `prewarm cache import`.
@Suite struct CacheExchangeTests {
  private let origin = makeImageOrigin()

  @Test func `images are laid out like their URLs by default, or as an app looks for them`() async throws {
    let job = try await JobFolder.filled(from: origin)
    try await job.expectTranscript(
      "cache export --to out",
      "cache export --to names --json --layout sdwebimage",
      "cache export --to typed --json --with-extension"
    )
    for (number, url) in JobFolder.images.enumerated() {
      let name = try await md5(url)
      for path in ["out/img.test:80/images/\(number).jpg", "names/\(name)", "typed/\(name).jpg"] {
        #expect(job.folder.read(path) == SampleImages.jpeg(number), "\(path)")
      }
    }
    for folder in ["out", "names", "typed"] { #expect(try job.folder.files(below: folder).count == 5) }
  }

  @Test func `images that cannot be exported are reported, and the rest is exported`() async throws {
    let job = try await JobFolder.filled(from: origin)
    job.write(urls: ["http://user:geheim@img.test/images/7.jpg"])
    #expect(try await job.runJob().status == 0)
    try await job.expectTranscript("cache export --to out --json", for: "credentials")
    try job.flipByte(of: SampleImages.jpeg(1))
    try await job.expectTranscript("cache export --to again", for: "damaged")
    #expect(try job.folder.files(below: "again").count == 4)
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
    job.writeJob(name: "plain")
    try await job.expectTranscript("cache export --to d", "cache export --to e --job plain.yaml --transformed")
    #expect(try job.folder.files(below: "d").map { $0.suffix(4) } == [".jpg", ".png"])
  }

  @Test func `--job exports the URLs of that job's lists only, fetched lists too, and --delete follows the lists`() async throws {
    let job = try await JobFolder.filled(from: origin)
    let list = (JobFolder.images[..<2] + ["http://img.test/images/77.jpg"]).joined(separator: "\n")
    origin.set("/list.txt", .text(list, type: "text/plain"))
    job.writeJob("manifests: [{url: '\(origin.url("/list.txt"))'}]", name: "part")
    try await job.expectTranscript("cache export --to out --job part.yaml", for: "part")
    let part = (0..<2).map { "img.test:80/images/\($0).jpg" }
    #expect(try job.folder.files(below: "out") == part)
    #expect(try await job.prewarm("cache export --to out").status == 0)
    #expect(try job.folder.files(below: "out").count == 5)
    job.folder.write("not an image", to: "out/img.test:80/images/notes.txt")
    try await job.expectTranscript("cache export --to out --job part.yaml --delete", for: "delete")
    // An empty or failed list must not delete everything.
    for (name, list) in [("empty", Behaviour.text("# empty\n", type: "text/plain")), ("failed", .status(404))] {
      origin.set("/list.txt", list)
      try await job.expectTranscript("cache export --to out --job part.yaml --delete", for: name)
    }
    #expect(try job.folder.files(below: "out") == part + ["img.test:80/images/notes.txt"])
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
    try await job.expectTranscript("cache import other --json", "cache import other/default")
    #expect(try await job.expectTrueTotals().count == 6)
    #expect(try await job.runJob().totals["hit_disk"] == 6)
    #expect(origin.requests.count == 6)
  }

  @Test func `exported files are imported by the URLs of a list or a job, and other files are skipped`() async throws {
    let job = try await JobFolder.filled(from: origin)
    #expect(try await job.prewarm("cache export --layout sdwebimage --to app").status == 0)
    job.folder.write("<!doctype html>", to: "app/\(try await md5(JobFolder.images[4]))")
    #expect(try await job.prewarm("cache clear").status == 0)
    job.write(urls: JobFolder.images + ["http://img.test/elsewhere.jpg", "no url"], to: "more.txt")
    try await job.expectTranscript("cache import app --urls more.txt", "cache import app --job job.yaml --json")
    let listed = try await job.expectTrueTotals()
    #expect(listed.allSatisfy { $0.format == "jpeg" && $0.width == 32 && $0.proof == "header" })
    let run = try await job.runJob()
    #expect(run.totals["hit_disk"] == 4 && run.totals["downloaded"] == 1)
    let piped = try await job.prewarm("cache import app --urls - --json", input: .bytes(Array(JobFolder.images[1].utf8)))
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
