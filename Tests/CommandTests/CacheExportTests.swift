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

  @Test("an export uses the file names that an app looks for", arguments: [false, true])
  func exportsHaveTheNamesOfApps(withExtension: Bool) async throws {
    let origin = try makeImageOrigin()
    let job = try await JobFolder.filled(from: origin)
    let options = withExtension ? ["--with-extension"] : []
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

  @Test("the URL as first written names the file, not the normalised one")
  func theURLAsWrittenNamesTheFile() async throws {
    let origin = try makeImageOrigin()
    let written = "HTTP://127.0.0.1:\(origin.port)/images/%31.jpg#top"
    let job = JobFolder(urls: [written])
    #expect(try await job.runJob().status == 0)
    #expect(try await job.prewarm("cache", "export", "--to", "out").status == 0)
    #expect(job.folder.read("out/\(try await md5(written))") == SampleImages.jpeg(1))
  }

  @Test("url-path lays images out like their URLs") func imagesLieAsTheirURLsSay() async throws {
    let origin = try makeImageOrigin()
    let job = try await JobFolder.filled(from: origin)
    let result = try await job.prewarm("cache", "export", "--layout", "url-path", "--to", "out")
    #expect(result.status == 0 && result.error.isEmpty)
    expectGolden(result.outputText.lines(with: "5 images"))
    for number in 0..<5 {
      #expect(job.folder.read("out/127.0.0.1:\(origin.port)/images/\(number).jpg") == SampleImages.jpeg(number))
    }
  }

  @Test("images that cannot be exported are reported, and the rest is exported")
  func whatCannotBeExportedIsToldAndTheRestIsThere() async throws {
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
    #expect(try FileManager.default.contentsOfDirectory(atPath: job.folder.file("again")).count == 2)
  }

  @Test("nothing is exported if the folder cannot be created") func whereTheFolderCannotBeMadeNothingIsExported() async throws {
    let origin = try makeImageOrigin()
    let job = try await JobFolder.filled(from: origin)
    job.folder.write("in the way", to: "out")
    let result = try await job.prewarm("cache", "export", "--to", "out/images")
    #expect(result.status == 1 && result.output.isEmpty)
    expectGolden(result.errorText)
  }
}

/// The MD5 of a text in hexadecimal digits, by coreutils.
func md5(_ text: String) async throws -> String {
  let result = try await Command("/usr/bin/md5sum", input: .bytes(Array(text.utf8))).wait()
  return String(result.outputText.prefix { $0 != " " })
}
