import Reports
import Testing

@Suite struct EscapingHiddenCharactersTests {
  @Test(arguments: [
    (#"{"a":"b"}"#, #"{"a":"b"}"#), ("\"é\u{1F600}\"", "\"é\u{1F600}\""), ("\"\u{202E}\u{9B}\"", #""\u202e\u009b""#),
    ("\"\u{7F}\u{E0001}\"", #""\u007f\udb40\udc01""#), (#""\u001b""#, #""\u001b""#),
  ])
  func hiddenCharactersAreEscapedAndAllElseStays(json: String, escaped: String) {
    #expect(escapingHiddenCharacters(inJSON: json) == escaped)
  }
}
