import Base
import Foundation
import Fuzzing
import TestSupport
import Testing

/// The targets of scripts/fuzz over the inputs that it starts from and changed ones, the same in each run. An input that breaks a target
/// ends the process with a sentence.
@Suite struct ReplayTests {
  /// How often each input is changed.
  private static let variants: UInt32 = 3

  @Test(arguments: FuzzTarget.names) func `each target accepts its inputs, and changed ones`(name: String) throws {
    let target = try #require(FuzzTarget(name))
    let files = try fixtures(name).map(Fixtures.bytes)
    #expect(files.count + target.seeds.count > 1)
    var random = SeededRandom(seed: 20_261_121)
    for input in files + target.seeds {
      input.withUnsafeBytes(target.run)
      for variant in 0..<Self.variants where !input.isEmpty {
        var changed = input
        for _ in 0..<4 { changed[.random(in: 0..<input.count, using: &random)] = .random(in: 0...255, using: &random) }
        if variant == 1 { changed.removeLast(.random(in: 0..<input.count, using: &random)) }
        changed.withUnsafeMutableBytes { target.mend($0, seed: variant) }
        changed.withUnsafeBytes(target.run)
      }
    }
  }

  /// The fixtures from which scripts/fuzz starts, by path.
  private func fixtures(_ name: String) throws -> [String] {
    let folder = name == "report" ? "reports" : "images"
    let paths = try FileManager.default.subpathsOfDirectory(atPath: Fixtures.path(folder)).sorted().map { "\(folder)/\($0)" }
    return paths.filter { path in
      let ending = path.split(separator: ".").last ?? ""
      guard name != "report" else { return ending.hasPrefix("json") }
      guard let format = ImageFormat(fileExtension: ending), name == "header" || name == format.name else { return false }
      // Larger ones take long with each change.
      return Fixtures.bytes(path).count < 65_536
    }
  }
}
