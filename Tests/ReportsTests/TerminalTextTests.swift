import Testing

@testable import Reports

@Suite struct TerminalTextTests {
  @Test(
    arguments: [
      ("plain", "plain"), ("a\nb\r\tc", #"a\nb\r\tc"#), ("\u{1B}[2J", #"\u{1B}[2J"#), ("\u{7F}\u{9B}", #"\u{7F}\u{9B}"#),
      ("\u{202E}gnp", #"\u{202E}gnp"#), ("\u{2066}\u{200B}", #"\u{2066}\u{200B}"#), ("żółć 画像 🦊", "żółć 画像 🦊"),
    ]
  )
  func `terminal control characters are shown instead of sent`(_ row: (text: String, shown: String)) {
    #expect(escapedForTerminal(row.text) == row.shown)
  }

  @Test func `invalid UTF-8 is shown byte by byte`() {
    let bytes: [UInt8] = [0x61, 0xFF, 0xE2, 0x82, 0x62, 0xED, 0xA0, 0x80, 0xF4]
    #expect(bytes.withUnsafeBytes { escapedForTerminal($0) } == #"a\xFF\xE2\x82b\xED\xA0\x80\xF4"#)
  }

  @Test func `decoding agrees with the standard library`() {
    // Bytes that begin, continue and break sequences are likelier here than among all bytes.
    let alphabet: [UInt8] = [
      0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5,
    ]
    for _ in 0..<20_000 {
      let bytes = (0..<8).map { _ in alphabet.randomElement()! }
      var decoded = String.UnicodeScalarView()
      bytes.withUnsafeBytes { bytes in
        var position = 0
        while position < bytes.count {
          let (value, length) = decodeScalar(bytes, at: position)
          decoded.append(Unicode.Scalar(value ?? 0xFFFD)!)
          position += length
        }
      }
      #expect(String(decoded) == String(decoding: bytes, as: UTF8.self), "\(bytes)")
    }
  }

  @Test func `widths are a terminal's columns`() {
    #expect(columns(of: "abc…–") == 5)
    #expect(columns(of: "画像") == 4)
    #expect(columns(of: "e\u{301}") == 1)
    #expect("画像abc".cut(to: 5) == "画像…")
    #expect("画像abc".cut(to: 4) == "画…")
    #expect("abc".cut(to: 3) == "abc")
  }

  @Test func `numbers are formatted for people`() {
    #expect([0, 999, 1000, 10_000, 1_234_567].map { grouped($0) } == ["0", "999", "1,000", "10,000", "1,234,567"])
    #expect(
      [0, 999, 1000, 71_220_000, 99_960_000, 2_000_000_000].map { byteCount($0) } == [
        "0 B", "999 B", "1 kB", "71.2 MB", "100 MB", "2 GB",
      ]
    )
    #expect([0.31, 9.96, 310, 999.6, 2500].map { latency($0) } == ["0.3 ms", "10 ms", "310 ms", "1 s", "2.5 s"])
    #expect([4, 400, 125_000, 11_520_000].map { elapsed(.milliseconds($0)) } == ["4 ms", "0.4 s", "2 min 5 s", "3 h 12 min"])
    #expect([0, 0.01, 0.4, 24, 1240].map { rate($0) } == ["0/s", "<0.1/s", "0.4/s", "24/s", "1,240/s"])
    #expect(percent(1, of: 1_000_000) == "<0.1 %")
    #expect(percent(999_999, of: 1_000_000) == ">99.9 %")
    #expect(counted(1, "URL") == "1 URL")
  }
}
