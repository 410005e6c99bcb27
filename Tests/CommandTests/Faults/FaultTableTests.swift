import TestSupport
import Testing

/// Every kind of fault ends as the table says, and loses nothing that was stored.
@Suite struct FaultTableTests {
  @Test(
    arguments: FaultTable.rows.indices
  )
  func `each fault has its outcome, kind, status and message, and stored images stay`(index: Int) async throws {
    let row = FaultTable.rows[index]
    let scene = try await FaultScene(keys: row.keys)
    try await row.arrange(scene)
    let result = try await row.run(scene)
    let said: Comment = "\(row.name): \(result.ending) \(result.errorText)"
    #expect(result.status == row.exit, said)
    var message = result.errorText
    if row.outcome != nil || scene.job.folder.read("report.json") != nil {
      let run = try scene.job.finishedRun(result)
      #expect(run.totals["urls"] == run.sumOfTotals, said)
      if !result.errorText.contains("report") { #expect(run.report["exit_status"] as? Int == row.exit, said) }
      let entries = run.rows.filter { !scene.stored.contains($0.url) }
      if let outcome = row.outcome {
        let entry = try #require(entries.last { $0.outcome == outcome && $0.kind == row.kind } ?? entries.last, said)
        #expect(entry.outcome == outcome && entry.kind == row.kind, "\(said): \(entry)")
        message = entry.message ?? message
      }
      if message.isEmpty { message = (run.report["warnings"] as? [String] ?? []).joined(separator: "; ") }
    }
    #expect(message.contains(row.says), "\(said): \(message)")
    try row.check(scene, result)
    FaultTable.note(index, message: message)
    // A later run finds the stored images, whatever has happened.
    scene.job.folder.write("version: 1\nname: later\nmanifests: [{path: stored.txt}]\n", to: "stored.yaml")
    scene.job.write(urls: scene.stored, to: "stored.txt")
    let later = try await scene.job.prewarm("run", "stored.yaml", "--cache-mode", "only", "--set", "cache.verify-hits=true")
    #expect(later.status == 0, "\(said): \(later.outputText)\(later.errorText)")
  }

  @Test func `the table has many distinct faults`() {
    #expect(Set(FaultTable.rows.map(\.name)).count == FaultTable.rows.count)
    #expect(FaultTable.rows.count >= 150)
  }
}
