import Foundation
import ImagePrimitives
import TestSupport
import Testing

struct Base64Tests {
  @Test("Base64 agrees with Foundation's")
  func agreesWithFoundation() {
    var random = SeededRandom(seed: 5)
    for count in 0..<67 {
      let bytes = random.bytes(count)
      #expect(String(decoding: bytes.base64, as: UTF8.self) == Data(bytes).base64EncodedString())
    }
  }
}
