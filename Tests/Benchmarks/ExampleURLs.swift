import ImageManaging
import ImagePrimitives
import ImageURLs

/// URLs of a shop's images on 16 hosts, side by side as a batch has them.
struct ExampleURLs {
  private(set) var bytes: [UInt8] = []
  private(set) var requests: [LoadRequest] = []

  /// The URL of that number.
  static func text(_ number: Int) -> String {
    "https://img\(number % 16).example.com/catalog/\(number % 97)/product-\(number)/front-800x600.jpg"
  }

  /// Those of the numbers, each with `suffix` behind it.
  init(_ numbers: Range<Int>, suffix: String = "") throws(InvalidURL) {
    let normalizer = URLNormalizer()
    for number in numbers {
      let start = bytes.count
      let text = Array((Self.text(number) + suffix).utf8)
      let parts = try text.withRawBytes { text throws(InvalidURL) in
        try normalizer.normalize(text, relativeTo: nil, into: &bytes)
      }
      requests.append(
        LoadRequest(
          id: UInt64(number),
          url: start..<bytes.count,
          parts: parts,
          priority: .normal,
          sequence: Int64(number)
        )
      )
    }
  }

  /// Calls `body` with each of them.
  func forEach<Problem: Error>(_ body: (UnsafeRawBufferPointer) throws(Problem) -> Void) throws(Problem) {
    try bytes.withRawBytes { bytes throws(Problem) in
      for request in requests { try body(UnsafeRawBufferPointer(rebasing: bytes[request.url])) }
    }
  }
}
