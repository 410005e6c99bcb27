import Lists
import Testing

@Suite struct PageEncodingTests {
  private static let image = Array("<img src=".utf8)

  @Test(
    arguments: [
      (nil, "", [0xe9], "%C3%A9"), (nil, "", [0xc3, 0xa9], "%C3%A9"), ("text/html; charset=utf-8", "", [0xe9], "%EF%BF%BD"),
      ("text/html;charset=\"ISO-8859-1\"", "<meta charset=utf-8>", [0x80], "%E2%82%AC"),
      ("text/html; charset=klingon", "", [0xe9], "%C3%A9"), (nil, "<meta charset=Shift_JIS>", [0x93, 0xfa], "%E6%97%A5"),
      (nil, "<meta charset=' gb2312 '>", [0xc8, 0xd5], "%E6%97%A5"),
      (nil, "<META http-equiv=Content-Type content='text/html; charset=windows-1251'>", [0xe9], "%D0%B9"),
      (nil, "<meta content='text/html; charset=windows-1251'>", [0xe9], "%C3%A9"),
      (nil, "<!-- <meta charset=windows-1251> -->", [0xe9], "%C3%A9"),
      (nil, "<!--><meta charset=windows-1251>", [0xe9], "%D0%B9"), (nil, "<p title='<meta charset=koi8-r>'>", [0xe9], "%C3%A9"),
      (nil, "<meta charset=utf-16le>", [0xc3, 0xa9], "%C3%A9"),
      (nil, "<meta charset=euc-jp>", [0xc6, 0xfc, 0xff, 0x41], "%E6%97%A5%EF%BF%BDA"),
      (nil, "<meta charset=x-unknown><meta charset=koi8-r>", [0xca], "%D0%B9"),
      (nil, "<meta charset=big5>", [0xa4, 0xe9], "%E6%97%A5"),
      (nil, "<!doctype html><title>x</title><meta name=a charset=euc-kr>", [0xb0, 0xa1], "%EA%B0%80"),
    ] as [(String?, String, [UInt8], String)]
  )
  func `the encoding is that of the mark, the header, the meta element or the bytes`(
    type: String?,
    start: String,
    letter: [UInt8],
    expected: String
  ) {
    let result = page(bytes: Array(start.utf8) + Self.image + letter + Array(".png>".utf8), contentType: type)
    #expect(result.urls == ["/news/\(expected).png"])
  }

  @Test func `a byte order mark overrides everything else`() {
    let text = "<meta charset=koi8-r><img src=é.png>"
    let little: [UInt8] = [0xff, 0xfe] + text.utf16.flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] }
    let big: [UInt8] = [0xfe, 0xff] + text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] }
    for bytes in [little, big, [0xef, 0xbb, 0xbf] + Array(text.utf8), little + [0x41]] {
      #expect(page(bytes: bytes, contentType: "text/html; charset=windows-1251").urls == ["/news/%C3%A9.png"])
    }
  }

  @Test func `a declaration after the first 1,024 bytes is ignored`() {
    for (count, expected) in [(900, "%D0%B9"), (1100, "%C3%A9")] {
      let start = String(repeating: " ", count: count) + "<meta charset=windows-1251>"
      let result = page(bytes: Array(start.utf8) + Self.image + [0xe9] + Array(".png>".utf8))
      #expect(result.urls == ["/news/\(expected).png"])
    }
  }
}
