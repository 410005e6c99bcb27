import Foundation
import TestOrigin
import TestSupport
import Testing

/// `prewarm cache import`.
@Suite struct CacheImportTests {
  private struct Row: Decodable {
    let source: String
    let importedEntries: Int
    let importedBytes: Int
    let notNewerEntries: Int
    let damagedEntries: Int
    let unusableFiles: Int
    let urlsNotFound: Int
  }

  @Test func `images imported from another cache need no download`() async throws {
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<6))
    #expect(try await job.runJob("--cache-directory", "other").totals["downloaded"] == 6)
    // The import creates the cache.
    let row: Row = try await job.prewarm("cache", "import", "other", "--json").row()
    #expect(row.source == "other" && row.importedEntries == 6)
    #expect(try await job.expectTrueTotals().count == 6)
    #expect(try await job.runJob().totals["hit_disk"] == 6)
    #expect(origin.requests.count == 6)
    let again = try await job.prewarm("cache", "import", "other/default")
    #expect(again.status == 0)
    expectGolden(again.outputText)
  }

  @Test func `the newest image of two caches wins`() async throws {
    let origin = try makeImageOrigin()
    let url = origin.url("/changing.jpg")
    origin.set("/changing.jpg", .sequence((1...2).map { .body(SampleImages.jpeg($0), type: "image/jpeg") }))
    let job = JobFolder(urls: [url])
    #expect(try await job.runJob("--cache-directory", "older").status == 0)
    #expect(try await job.runJob("--cache-directory", "newer").status == 0)
    for source in ["older", "newer", "older"] { #expect(try await job.prewarm("cache", "import", source).status == 0) }
    #expect(try await job.prewarm("cache", "get", url).output == SampleImages.jpeg(2))
    #expect(try await job.expectTrueTotals().count == 1)
  }

  @Test func `exported files are imported by their URLs, and other files are skipped`() async throws {
    let origin = try makeImageOrigin()
    let urls = imageURLs(origin, 0..<5)
    let job = JobFolder(urls: urls)
    #expect(try await job.runJob().status == 0)
    #expect(try await job.prewarm("cache", "export", "--layout", "sdwebimage", "--to", "app").status == 0)
    job.folder.write("<!doctype html>", to: "app/\(try await md5(urls[4]))")
    #expect(try await job.prewarm("cache", "clear").status == 0)
    job.write(urls: urls + [origin.url("/elsewhere.jpg"), "no url"], to: "more.txt")

    let result = try await job.prewarm("cache", "import", "app", "--urls", "more.txt")
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
    let origin = try makeImageOrigin()
    let job = JobFolder(urls: imageURLs(origin, 0..<3))
    #expect(try await job.runJob().status == 0)
    #expect(try await job.prewarm("cache", "export", "--with-extension", "--to", "app").status == 0)
    #expect(try await job.prewarm("cache", "clear").status == 0)
    let row: Row = try await job.prewarm("cache", "import", "app", "--job", "job.yaml", "--json").row()
    #expect(row.importedEntries == 3 && row.urlsNotFound == 0)
    let input = imageURLs(origin, 0..<4).joined(separator: "\n")
    let piped = try await job.prewarm("cache", "import", "app", "--urls", "-", "--json", input: .bytes(Array(input.utf8)))
    let row2: Row = try piped.row()
    #expect(row2.importedEntries == 0 && row2.notNewerEntries == 3 && row2.urlsNotFound == 1)
  }

  @Test func `damaged images of the other cache are skipped and reported`() async throws {
    let origin = try makeImageOrigin()
    let job = try await JobFolder.filled(from: origin)
    try job.flipByte(of: SampleImages.jpeg(3))
    let result = try await job.prewarm("cache", "import", "cache", "--directory", "copy")
    #expect(result.status == 1, "\(result.outputText)")
    expectGolden(result.outputText, for: "output")
    expectGolden(result.errorText.lines(with: imageURLs(origin, 3..<4)[0]), for: "error")
    #expect(try await job.expectTrueTotals("--directory", "copy").count == 4)
  }

  @Test func `an impossible import is reported before anything is imported`() async throws {
    let origin = try makeImageOrigin()
    let job = try await JobFolder.filled(from: origin)
    job.folder.write(SampleImages.jpeg(1), to: "app/\(try await md5("http://a/b.jpg"))")
    let flat = try await job.prewarm("cache", "import", "app", "--directory", "new")
    #expect(flat.status == 3, "\(flat.errorText)")
    expectGolden(flat.errorText, for: "a folder")
    let twice = try await job.prewarm("cache", "import", "app", "app", "--urls", "-", "--directory", "new")
    #expect(twice.status == 3)
    expectGolden(twice.errorText, for: "standard input")
    let missing = try await job.prewarm("cache", "import", "cache", "nowhere", "--directory", "new")
    #expect(missing.status == 1 && missing.output.isEmpty && missing.errorText.contains("nowhere"), "\(missing.errorText)")
    let manifest = try await job.prewarm("cache", "import", "app", "--urls", "gone.txt", "--directory", "new")
    #expect(manifest.status == 1 && manifest.errorText.contains("gone.txt"), "\(manifest.errorText)")
  }
}
