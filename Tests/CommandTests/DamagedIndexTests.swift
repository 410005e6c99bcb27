import Foundation
import TestOrigin
import TestSupport
import Testing

/// An index with wrong bytes in its meta pages and in the records. Pages of LMDB's trees are not among them: LMDB trusts them.
@Suite struct DamagedIndexTests {
  private static let seeds: Range<UInt64> = 0..<32
  private static let name = "cache/default/index.mdb"
  private static let metaByteCount = 152
  private static let headByteCount = 92

  private static let commands = [
    ["cache", "stats"], ["cache", "list", "--json"], ["cache", "verify", "--keep"], ["cache", "verify"], ["cache", "trim"],
    ["cache", "trim", "--max-size", "1kB"], ["blacklist", "list"], ["run", "job.yaml", "--cache-mode", "only"],
    ["run", "job.yaml", "--dry-run"],
  ]

  enum Part: CaseIterable {
    case metaPages, records
  }

  @Test(arguments: Part.allCases)
  func `wrong bytes in meta pages or records end no command by a signal`(part: Part) async throws {
    let job = try await JobFolder.filled(from: makeImageOrigin())
    let whole = try #require(job.folder.read(Self.name))
    let places: [Range<Int>] =
      switch part {
      case .metaPages: [0..<Self.metaByteCount, 4096..<4096 + Self.metaByteCount]
      case .records: places(of: "http://img.test/", in: whole).map { $0 - Self.headByteCount..<$0 }
      }
    for seed in Self.seeds {
      var random = SeededRandom(seed: seed)
      var index = whole
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let place = Int.random(in: places.randomElement(using: &random)!, using: &random)
        let bit = UInt8(1) << UInt8.random(in: 0..<8, using: &random)
        index[place] = [0, 0x40, 0x7F, 0xFF, index[place] ^ bit].randomElement(using: &random)!
      }
      job.folder.write(index, to: Self.name)
      let command = Self.commands.randomElement(using: &random)!
      let result = try await job.start(command).wait()
      let isExpected = [0, 1, 2].contains(result.status)
      #expect(isExpected, "seed \(seed): \(command.joined(separator: " ")): \(result.ending) \(result.errorText.prefix(500))")
    }
  }

  @Test func `records of bodies of 2^62 bytes are hits whose bytes don't overflow, and verify finds them`() async throws {
    let job = try await JobFolder.filled(from: makeImageOrigin())
    var index = try #require(job.folder.read(Self.name))
    // Bytes 24…31 of a record are the size of its body.
    for place in places(of: "http://img.test/", in: index) { index[place - Self.headByteCount + 24 + 7] = 0x40 }
    job.folder.write(index, to: Self.name)
    let run = try await job.runJob("--cache-mode only")
    #expect(run.totals["hit_disk"] == 5, "\(run.result.errorText)")
    for command in [["cache", "stats"], ["cache", "list", "--json"]] {
      #expect(try await job.start(command).wait().status == 0)
    }
    let verified = try await job.prewarm("cache verify --keep --json")
    #expect(verified.status == 1 && verified.outputText.contains("\"damaged_entries\":5"), "\(verified.outputText)")
  }

  /// The offsets at which `text` begins.
  private func places(of text: String, in bytes: [UInt8]) -> [Int] {
    let data = Data(bytes)
    var places: [Int] = []
    var start = 0
    while let place = data.range(of: Data(text.utf8), in: start..<data.count) {
      places.append(place.lowerBound)
      start = place.upperBound
    }
    return places
  }
}
