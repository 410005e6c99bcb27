import ImageManaging
import Base

/// URLs of a shop's images on 16 hosts, concatenated as in a batch.
struct ExampleURLs {
  private(set) var batch = EntryBatch()

  static func text(_ number: Int) -> String {
    "https://img\(number % 16).example.com/catalog/\(number % 97)/product-\(number)/front-800x600.jpg"
  }

  /// The URLs with those numbers, each followed by `suffix`.
  init(_ numbers: Range<Int>, suffix: String = "") throws(InvalidURL) {
    let normalizer = URLNormalizer()
    for number in numbers {
      let start = batch.bytes.count
      let text = Array((Self.text(number) + suffix).utf8)
      let parts = try text.withRawBytes { text throws(InvalidURL) in
        try normalizer.normalize(text, relativeTo: nil, into: &batch.bytes)
      }
      batch.entries.append(BatchEntry(sequence: Int64(number), parts: parts, requestRange: start..<batch.bytes.count))
    }
  }

  func forEach<Problem: Error>(_ body: (UnsafeRawBufferPointer) throws(Problem) -> Void) throws(Problem) {
    try batch.bytes.withRawBytes { bytes throws(Problem) in
      for entry in batch.entries { try body(UnsafeRawBufferPointer(rebasing: bytes[entry.requestRange])) }
    }
  }
}
