import Testing

@testable import Lists

@Suite struct ReadingProgressTests {
  @Test func `files of impossible lengths, as sparse ones have, give an estimate all the same`() throws {
    var progress = ReadingProgress()
    for _ in 0..<3 { progress.addFile(bytes: UInt64(Int64.max)) }
    progress.countEntries(30_000)
    let estimate = try #require(progress.expectedEntries(consumedInCurrent: 60_000))
    #expect(estimate > 30_000)
    for index in 0..<3 { progress.finishFile(at: index) }
    #expect(progress.expectedEntries(consumedInCurrent: 0) == 30_000)
  }
}
