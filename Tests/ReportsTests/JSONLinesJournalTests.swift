import Foundation
import Base
@testable import Reports
import TestSupport
import Testing

@Suite struct JSONLinesJournalTests {
  private let folder = TemporaryDirectory()

  /// The rows of what `body` records.
  private func rows(_ body: (RunReport) -> Void) throws -> [String] {
    let journal = try JSONLinesJournal(path: folder.file("rows.jsonl"))
    let run = makeRun(journals: [journal])
    body(run)
    try journal.finish(run.finish(makeEnd()))
    let text = String(decoding: try #require(folder.read("rows.jsonl")), as: UTF8.self)
    #expect(text == "\n" || text.hasSuffix("}\n"))
    return text.split(separator: "\n").map(String.init)
  }

  @Test func `a row has its columns in order`() throws {
    let details = EntryResult.Details(
      finalURL: "https://cdn.example.com/a.png",
      contentType: "image/x-png",
      warnings: ["image/x-png means image/png", "two"]
    )
    let rows = try rows { run in
      let result = EntryResult.make(.downloaded, details: details) {
        $0.bytes = 25_000
        $0.format = .jpegXL
        $0.width = 800
        $0.height = 600
        $0.attempts = 2
        $0.durationNanoseconds = 12_045_678
        $0.isShared = true
        $0.checksum = Checksum(high: 0x0123_4567_89AB_CDEF, low: 0xF)
      }
      run.record(result, line: 10_000_000_000, priority: .veryHigh)
    }
    #expect(
      rows == [
        #"{"url":"https://img.example.com/a.png","manifest":"urls/hero.txt","line":10000000000,"priority":"very-high","#
          + #""outcome":"downloaded","bytes":25000,"format":"jpeg-xl","width":800,"height":600,"attempts":2,"#
          + #""duration_ms":12.045,"stored_bytes":25000,"shared":true,"final_url":"https://cdn.example.com/a.png","#
          + #""content_type":"image/x-png","body_hash":"0123456789abcdef000000000000000f","#
          + #""warnings":["image/x-png means image/png","two"]}"#
      ]
    )
  }

  @Test func `hostile text stays in its row`() throws {
    let rows = try rows { run in
      for text in hostileTexts { run.record(.failed(ImageFailure(.reset, message: text)), url: text) }
      run.record(EntryResult(.skipped), urlBytes: [0x61, 0xFF])
    }
    #expect(rows.count == hostileTexts.count + 1)
    for (row, text) in zip(rows, hostileTexts + ["a\u{FFFD}"]) {
      let json = try #require(try JSONSerialization.jsonObject(with: Data(row.utf8)) as? [String: Any])
      #expect(json["url"] as? String == text)
    }
  }

  @Test func `rows that span many buffers are all written`() throws {
    let rows = try rows { $0.record(EntryResult(.hitDisk), count: 5000) }
    #expect(rows.count == 5000)
    #expect(rows.last?.contains(#""line":5000,"#) == true)
  }

  @Test func `an older report is emptied when the run starts`() throws {
    folder.write("an old row\n", to: "out/rows.jsonl")
    let journal = try JSONLinesJournal(path: folder.file("out/rows.jsonl"))
    // A later job may yet turn out to be wrong, and then this one does not run.
    #expect(folder.read("out/rows.jsonl") == Array("an old row\n".utf8))
    _ = makeRun(journals: [journal])
    #expect(folder.read("out/rows.jsonl") == [])
    try journal.flush()
  }

  @Test func `a full device is a permanent error`() throws {
    let journal = try JSONLinesJournal(path: "/dev/full")
    let run = makeRun(journals: [journal])
    run.record(EntryResult(.hitDisk))
    let expected = ReportError(.write, path: "/dev/full", code: ENOSPC)
    #expect(throws: expected) { try run.flushJournals() }
    // The rows that follow are counted, and the error is not forgotten.
    run.record(EntryResult(.hitDisk), count: 5000)
    #expect(throws: expected) { try run.flushJournals() }
    #expect(run.totals.hitDisk == 5001)
  }
}
