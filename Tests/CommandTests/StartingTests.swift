import Foundation
import TestOrigin
import TestSupport
import Testing

/// The libraries that a start loads: unnecessary ones would cost time and memory.
@Suite struct StartingTests {
  private let job = JobFolder(urls: ["http://127.0.0.1:9/1.jpg"])

  /// Runs `prewarm`, and returns the file names of the loaded libraries.
  private func librariesLoaded(_ arguments: [String]) async throws -> (libraries: Set<String>, result: Command.Result) {
    // Processes that decode get no such variables.
    let debugging = ["LD_DEBUG": "files", "LD_DEBUG_OUTPUT": job.folder.file("loaded"), "PREWARM_SANDBOX": "off"]
    let result = try await job.start(arguments, environment: debugging).wait()
    var libraries: Set<String> = []
    for name in try FileManager.default.contentsOfDirectory(atPath: job.folder.path) where name.hasPrefix("loaded.") {
      let lines = job.folder.text(name).split(separator: "\n")
      for line in lines where line.contains("calling init: ") { libraries.insert(String(line.split(separator: "/").last!)) }
    }
    return (libraries, result)
  }

  /// Libraries that only some work needs.
  private func lazyOnes(_ libraries: Set<String>) -> [String] {
    let names = ["libavif", "libdav1d", "libtiff", "libheif", "libde265", "libjxl", "libxml2", "libicu"]
    return libraries.filter { library in names.contains { library.hasPrefix($0) } }.sorted()
  }

  @Test(arguments: [["--version"], ["--help"], ["schema"], ["validate", "job.yaml"], ["run", "job.yaml", "--dry-run"]])
  func `libraries that only some images need aren't loaded`(arguments: [String]) async throws {
    let (libraries, result) = try await librariesLoaded(arguments)
    #expect(result.status == 0, "\(result.errorText)")
    #expect(libraries.contains { $0.hasPrefix("libcurl") })
    #expect(lazyOnes(libraries) == [])
  }

  typealias RareImage = (file: String, type: String, library: String, names: [String])

  /// Images that each need a library, and the files by which the dynamic linker finds that.
  private static let rareImages: [RareImage] = [
    ("avif/photo.avif", "image/avif", "libavif", ["libavif.so.15", "libavif.so.16"]),
    ("tiff/raw.tif", "image/tiff", "libtiff", ["libtiff.so.6"]), ("heic/photo.heic", "image/heic", "libheif", ["libheif.so.1"]),
    ("jxl/photo.jxl", "image/jxl", "libjxl", ["libjxl.so.0.7"]),
  ]

  @Test(arguments: rareImages) func `an image of a rare format loads its library`(image: RareImage) async throws {
    let origin = try Origin(["/1": .body(Fixtures.bytes("images/\(image.file)"), type: image.type)])
    let (libraries, result) = try await librariesLoaded(["check", origin.url("/1"), "--decode", "full"])
    #expect(result.status == 0, "\(result.outputText)\(result.errorText)")
    #expect(lazyOnes(libraries).contains { $0.hasPrefix("\(image.library).so") })
  }

  @Test(arguments: rareImages)
  func `an image without its library names the package to install, and others are good`(image: RareImage) async throws {
    let body = Behaviour.body(Fixtures.bytes("images/\(image.file)"), type: image.type)
    let origin = try Origin(["/1": body, "/1.jpg": .jpeg(1)])
    // A file that isn't a library ends the search.
    for name in image.names { job.folder.write("no library", to: name) }
    let line = "check \(origin.url("/1")) \(origin.url("/1.jpg")) --decode full"
    let result = try await job.prewarm(line, environment: ["LD_LIBRARY_PATH": job.folder.path])
    #expect(result.status == 2, "\(result.outputText)\(result.errorText)")
    expectGolden(result.outputText.lines(with: "install"), for: image.library)
    #expect(result.outputText.contains(" 1 of "), "\(result.outputText)")
  }

  @Test func `a job that writes AVIF without its library names the package before any request`() async throws {
    let origin = makeImageOrigin()
    let job = JobFolder(urls: [origin.url("/images/1.jpg")], keys: "transform: {format: avif}")
    for name in Self.rareImages[0].names { job.folder.write("no library", to: name) }
    let result = try await job.prewarm("run job.yaml", environment: ["LD_LIBRARY_PATH": job.folder.path])
    #expect(result.status == 1, "\(result.outputText)\(result.errorText)")
    #expect(origin.requests.isEmpty)
    expectGolden(result.errorText.lines(with: "install"))
  }
}
