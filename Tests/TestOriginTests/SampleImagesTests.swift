import TestSupport
import Testing

struct SampleImagesTests {
  @Test(arguments: [0, 1, 65_533, 65_534, 200_000])
  func `padded images have their size and are readable`(padding: Int) async throws {
    let folder = TemporaryDirectory()
    let one = SampleImages.jpeg(1, padding: padding)
    #expect(one != SampleImages.jpeg(2, padding: padding))
    #expect(one.count == SampleImages.jpeg(1).count + padding + (padding + 65_532) / 65_533 * 4)
    let seen = try await Command.run("/usr/bin/djpeg", ["-pnm", folder.write(one, to: "one.jpg")])
    #expect(seen.errorText == "")
    #expect(seen.output.starts(with: bytes("P6\n32 24\n255\n")))
  }

  @Test func `PNGs have correct checksums`() {
    // The checksum of an IEND chunk is the same in every PNG file.
    #expect(SampleImages.basePNG.suffix(4) == [0xae, 0x42, 0x60, 0x82])
    #expect(SampleImages.png(1) != SampleImages.png(2))
    #expect(SampleImages.png(1).count == SampleImages.basePNG.count + 12 + "Comment.image 1".count)
  }

  @Test func `a tree has a thousand images per folder`() {
    let folder = TemporaryDirectory()
    let paths = SampleImages.writeTree(1001, in: folder)
    #expect(paths[999] == "000/000999.jpg")
    #expect(paths[1000] == "001/001000.jpg")
    #expect(folder.read(paths[1000]) == SampleImages.jpeg(1000))
    #expect(SampleImages.manifest(of: paths.suffix(1), base: "http://h") == "http://h/001/001000.jpg\n")
  }

  @Test func `the same seed gives the same numbers`() {
    var random = SeededRandom(seed: 1_234_567)
    // The first numbers of the authors' C code for this seed.
    #expect(
      (0..<3).map { _ in random.next() } == [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
    )
    var one = SeededRandom(seed: 1)
    var other = SeededRandom(seed: 1)
    #expect(one.bytes(9) == other.bytes(9))
  }

  @Test func `usage is the given process's`() async throws {
    let command = try Command("/bin/cat", input: .open)
    command.write("x\n")
    try await command.waitForOutput("x")
    let usage = try #require(ProcessUsage(of: command.processID))
    #expect(usage.descriptors == 3)
    #expect(usage.threads == 1)
    #expect(usage.residentBytes > 0)
    #expect(usage.peakResidentBytes >= usage.residentBytes)
    #expect(try #require(ProcessUsage()).threads > 1)
  }
}
