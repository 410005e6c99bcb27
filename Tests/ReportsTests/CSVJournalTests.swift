import Foundation
import Base
@testable import Reports
import TestSupport
import Testing

@Suite struct CSVJournalTests {
  private let folder = TemporaryDirectory()

  private func csv(_ record: (RunReport) -> Void) throws -> [UInt8] {
    try ReportFormat.csv.text(at: folder.file("report.csv")) { journals in
      let run = makeRun(journals: journals)
      record(run)
      return run.finish(makeEnd())
    }
  }

  @Test func `a row has the columns of JSON Lines in order, and unknown values are empty`() throws {
    let details = EntryResult.Details(
      finalURL: "https://cdn.example.com/a.png",
      contentType: "image/png",
      warnings: ["one", "two"]
    )
    let result = EntryResult.make(.downloaded, details: details) {
      ($0.bytes, $0.format, $0.width, $0.height, $0.attempts) = (25_000, .png, 800, 600, 2)
      ($0.durationNanoseconds, $0.isShared, $0.checksum) = (12_045_678, true, Checksum(high: 1, low: 15))
      $0.metadata = ImageMetadata(hasProfile: true, orientation: 6, hasPosition: true, dpi: 300)
      $0.details.isRecovered = true
    }
    let text = String(
      decoding: try csv {
        $0.record(result, priority: .veryHigh)
        $0.record(EntryResult(.hitDisk), line: 0)
      },
      as: UTF8.self
    )
    #expect(
      text == """
        url,manifest,line,priority,outcome,kind,status,bytes,format,width,height,attempts,duration_ms,remote_cache,message,\
        stored_bytes,shared,variant,edge,final_url,content_type,body_hash,warnings,transient,known,profile,orientation,gps,dpi,\
        id,element,attribute,pages,lint,transformed_bytes,transformed_format,transformed_width,transformed_height,\
        transformed_hash,shard,repeated,recovered,in_grace,warned
        https://img.example.com/a.png,urls/hero.txt,1,very-high,downloaded,,,25000,png,800,600,2,12.045,,,25000,true,,,\
        https://cdn.example.com/a.png,image/png,0000000000000001000000000000000f,one; two,,,true,6,true,300,,,,,,,,,,,,,true,,
        https://img.example.com/a.png,urls/hero.txt,,normal,hit-disk,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,

        """
    )
  }

  @Test func `rows equal those of JSON Lines, read by another parser`() async throws {
    let lines = try ReportFormat.jsonl.text(at: folder.file("rows.jsonl"))
    let rows = try await Readers.csv(try ReportFormat.csv.text(at: folder.file("report.csv")))
    let names = try #require(rows.first)
    let objects = try lines.split(separator: UInt8(ascii: "\n")).map {
      try #require(try JSONSerialization.jsonObject(with: Data($0)) as? [String: Any])
    }
    #expect(objects.count == rows.count - 1)
    for (object, row) in zip(objects, rows.dropFirst()) {
      #expect(row.count == names.count)
      for (name, field) in zip(names, row) {
        switch object[name] {
        case nil: #expect(field.isEmpty)
        case let list as [String]: #expect(field == list.joined(separator: "; "))
        case let text as String: #expect(field == text)
        case let number as NSNumber: #expect(field == "true" ? number == true : Double(field) == number.doubleValue)
        default: Issue.record("\(name)")
        }
      }
    }
  }

  @Test func `hostile text stays in its field, and terminal control characters are shown`() async throws {
    let texts = hostileTexts + [",", "\"", "a,\"b\"\r\nc", "'", "", " padded "]
    let bytes = try csv { run in
      for text in texts { run.record(.failed(ImageFailure(.reset, message: text)), url: text) }
      run.record(EntryResult(.skipped), urlBytes: [0x61, 0xFF, 0xE2, 0x82])
    }
    for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars where !"\t\r\n".unicodeScalars.contains(scalar) {
      #expect(![.control, .format, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory))
    }
    let rows = try await Readers.csv(bytes).dropFirst()
    #expect(rows.map(\.count) == Array(repeating: 44, count: texts.count + 1))
    #expect(rows.last?.first == "a\u{FFFD}\u{FFFD}")
    for (row, text) in zip(rows, texts) {
      let shown = text.unicodeScalars.map { scalar in
        "\t\r\n".unicodeScalars.contains(scalar) ? String(scalar) : escapedForTerminal(String(scalar))
      }
      #expect(row[0] == shown.joined())
      #expect(row[14] == row[0])
    }
  }

  @Test(
    arguments: [
      ("=1+1", "'=1+1"), ("+1", "'+1"), ("-1", "'-1"), ("@SUM(A1)", "'@SUM(A1)"), ("\t=1", "'\t=1"), ("\r=1", "'\r=1"),
      ("\n=1", "'\n=1"), ("\u{FF1D}1", "'\u{FF1D}1"), ("=\"a\",1", "'=\"a\",1"), ("-", "-"), ("a=1", "a=1"),
      ("\u{FEFF}=1", #"\u{FEFF}=1"#),
    ]
  )
  func `text that a spreadsheet would compute is prefixed with an apostrophe`(_ text: String, _ field: String) async throws {
    let rows = try await Readers.csv(try csv { $0.record(.failed(ImageFailure(.reset, message: text)), url: "a") })
    #expect(try #require(rows.dropFirst().first)[14] == field)
  }

  @Test func `the file gets its name and all its rows when the run has ended`() throws {
    let writer = try ReportFormat.csv.open(folder.file("late.csv"))
    let run = makeRun(journals: [try #require(writer.journal)])
    run.record(EntryResult(.hitDisk), count: 5000)
    try run.flushJournals()
    #expect(folder.read("late.csv") == nil)
    try writer.finish(run.finish(makeEnd { $0.interruption = .interrupt }))
    #expect(folder.read("late.csv")?.count { $0 == UInt8(ascii: "\n") } == 5001)
  }

  @Test func `a full device is a permanent error`() throws {
    let writer = try ReportFormat.csv.open("/dev/full")
    let run = makeRun(journals: [try #require(writer.journal)])
    let expected = ReportError(.write, path: "/dev/full", code: ENOSPC)
    #expect(throws: expected) { try run.flushJournals() }
    run.record(EntryResult(.hitDisk), count: 5000)
    #expect(throws: expected) { try writer.finish(run.finish(makeEnd())) }
  }
}
