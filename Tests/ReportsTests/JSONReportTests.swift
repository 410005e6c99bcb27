import Foundation
import Base
import Testing

@testable import Reports

/// URLs and messages that try to break out of a string, a line or a terminal.
let hostileTexts = [
  "line\nfeed", "carriage\rreturn", "tab\tand\u{0}nul", #"quote " and \ backslash"#, "\u{1B}[31mred", "\u{7F}\u{9B}31m",
  "\u{202E}gnp.exe\u{202C}", "\u{2066}isolate\u{2069}", "\u{2028}\u{2029}", "żółć/画像/🦊", "\u{E0041}tag", "\u{FEFF}bom",
  "</script>",
]

@Suite struct JSONReportTests {
  private func parse(_ report: FinishedReport) throws -> [String: Any] {
    let text = JSONReport().text(report)
    // It is safe to print on a terminal.
    for scalar in text.unicodeScalars where scalar != "\n" {
      #expect(![.control, .format, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory))
    }
    return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
  }

  @Test(arguments: hostileTexts) func `hostile text survives a round trip`(_ text: String) throws {
    let run = makeRun(manifests: [text])
    run.record(.failed(ImageFailure(.reset, message: text)), url: text, host: text)
    let json = try parse(run.finish(makeEnd { $0.warnings = [text] }))
    let failure = try #require((json["failures"] as? [[String: Any]])?.first)
    #expect(failure["url"] as? String == text)
    #expect(failure["message"] as? String == text)
    #expect(failure["manifest"] as? String == text)
    #expect((json["hosts"] as? [[String: Any]])?.first?["host"] as? String == text)
    #expect(json["warnings"] as? [String] == [text])
  }

  @Test(arguments: [Int64.min, -62_135_596_800_001, -1, 253_402_300_800_000, .max])
  func `every written time can be read`(milliseconds: Int64) {
    let moment = Timestamp(milliseconds: milliseconds)
    for text in [moment.iso8601, moment.iso8601Seconds] {
      #expect(Array(text.utf8).withUnsafeBytes { Timestamp(iso8601: $0) } != nil)
    }
  }

  @Test func `every character is escaped or not at every position of a word`() throws {
    for byte in 0..<UInt8(0x80) {
      let character = String(UnicodeScalar(byte))
      for position in 0..<11 {
        let text = String(repeating: "a", count: position) + character + String(repeating: "b", count: 10 - position)
        var output = OutputBuffer()
        output.appendJSON(text)
        let mustBeEscaped = byte < 0x20 || byte == 0x7F || byte == 0x22 || byte == 0x5C
        #expect(output.text.hasPrefix("\"" + text.prefix(position) + (mustBeEscaped ? "\\" : character)))
        let parsed = try JSONSerialization.jsonObject(with: Data(output.text.utf8), options: .fragmentsAllowed)
        #expect(parsed as? String == text)
      }
    }
  }

  @Test func `invalid UTF-8 becomes replacement characters`() throws {
    for bytes in [[0x61, 0xFF, 0x62], [0xC3], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF0, 0x9F, 0x41], [0xC0, 0x80]] as [[UInt8]] {
      let run = makeRun()
      run.record(.failed(ImageFailure(.reset, message: "")), urlBytes: bytes)
      let failures = try parse(run.finish(makeEnd()))["failures"] as? [[String: Any]]
      #expect(failures?.first?["url"] as? String == String(decoding: bytes, as: UTF8.self))
    }
  }

  @Test func `the report of an empty run is valid`() throws {
    let json = try parse(makeRun(manifests: []).finish(makeEnd(after: .zero) { $0.interruption = .terminate }))
    #expect(json["hit_ratio"] as? Double == 0)
    #expect(json["cache"] is NSNull)
    #expect(json["interrupted"] as? Bool == true)
    #expect(json["exit_status"] as? Int == 143)
    #expect((json["latency_ms"] as? [String: Any])?["p50"] is NSNull)
  }

  @Test func `timestamps agree with the calendar`() throws {
    let formatter = ISO8601DateFormatter()
    formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
    for day in stride(from: -20_000, through: 80_000, by: 487) {
      let start = Timestamp(milliseconds: Int64(day) * 86_400_000 + 45_296_789)
      let run = RunReport(version: "", job: JobIdentity(name: "a", file: nil), words: .job, startedAt: start)
      let text = try parse(run.finish(makeEnd(after: .zero)))["started_at"] as? String
      #expect(text == formatter.string(from: Date(timeIntervalSince1970: Double(start.milliseconds) / 1000)))
    }
  }
}
