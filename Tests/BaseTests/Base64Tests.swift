import Foundation
import Base
import TestSupport
import Testing

struct Base64Tests {
  @Test func `Base64 agrees with Foundation's`() {
    var random = SeededRandom(seed: 5)
    for count in 0..<67 {
      let bytes = random.bytes(count)
      let expected = Data(bytes).base64EncodedString()
      #expect(String(decoding: bytes.base64, as: UTF8.self) == expected)
      let urlSafe = expected.replacing("+", with: "-").replacing("/", with: "_")
      for isPadded in [true, false] {
        var text = Array("x".utf8)
        bytes.withUnsafeBytes { appendURLSafeBase64($0, isPadded: isPadded, to: &text) }
        #expect(String(decoding: text, as: UTF8.self) == "x" + (isPadded ? urlSafe : urlSafe.replacing("=", with: "")))
      }
    }
  }
}
