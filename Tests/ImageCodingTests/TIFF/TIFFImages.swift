import Foundation
import ImageCoding
import Base
import TestSupport
import Testing

/// Calls the coder with bytes.
enum TIFF {
  /// The error of verifying, which must equal that of decoding, except that they need different amounts of memory.
  static func error(_ bytes: [UInt8], limits: DecodingLimits = DecodingLimits()) -> ImageError? {
    let (proof, decoding) = (
      imageError { try Standard.prove(bytes, limits: limits) }, imageError { try Standard.decode(bytes, limits: limits) }
    )
    guard case .memory = decoding?.kind else {
      #expect(proof == decoding)
      return proof
    }
    #expect(proof == nil || proof?.kind == decoding?.kind)
    return decoding
  }
}

/// Writes TIFF files that no encoder writes.
struct TIFFFile {
  /// A page: its fields besides positions and lengths of its strips, and the strips.
  struct Page {
    var fields: [Int: [Int]]
    var strips: [[UInt8]]

    /// A page of uncompressed samples of `bits`, with further fields.
    init(
      width: Int,
      height: Int,
      samples: Int = 1,
      bits: Int = 8,
      photometric: Int = 1,
      _ data: [UInt8],
      _ more: [Int: [Int]] = [:]
    ) {
      fields = [256: [width], 257: [height], 258: Array(repeating: bits, count: samples), 262: [photometric], 277: [samples]]
      fields.merge(more) { $1 }
      strips = [data]
    }
  }

  var pages: [Page]
  var isBig = false
  var isBigEndian = false
  /// The indices of the pages that follow each page; by default the next one.
  var next: [Int: Int] = [:]

  init(_ pages: Page...) { self.pages = pages }

  init(_ pages: [Page]) { self.pages = pages }

  var bytes: [UInt8] {
    let wide = isBig ? 8 : 4
    let starts = Array((isBigEndian ? "MM" : "II").utf8) + (isBig ? number(43, 2) + number(8, 2) + number(0, 2) : number(42, 2))
    var body: [UInt8] = []
    var links: [(place: Int, page: Int)] = [(starts.count, 0)]
    var positions: [Int] = []
    let header = starts.count + wide
    for (index, page) in pages.enumerated() {
      var fields = page.fields.mapValues { (type: 4, values: $0) }
      var places: [Int] = []
      for strip in page.strips {
        places.append(header + body.count)
        body += strip
      }
      let (placesTag, lengthsTag) = page.fields[322] == nil ? (273, 279) : (324, 325)
      if fields[placesTag] == nil { fields[placesTag] = (4, places) }
      if fields[lengthsTag] == nil { fields[lengthsTag] = (4, page.strips.map(\.count)) }
      for tag in [258, 259, 262, 266, 274, 277, 284, 317, 320, 338, 339, 530] where fields[tag] != nil { fields[tag]!.type = 3 }
      positions.append(header + body.count)
      var after = header + body.count + (isBig ? 8 : 2) + fields.count * (isBig ? 20 : 12) + wide
      var entries = number(fields.count, isBig ? 8 : 2)
      var values: [UInt8] = []
      for (tag, field) in fields.sorted(by: { $0.key < $1.key }) {
        let data = field.values.flatMap { number($0, field.type == 3 ? 2 : 4) }
        entries += number(tag, 2) + number(field.type, 2) + number(field.values.count, wide)
        if data.count <= wide {
          entries += data + Array(repeating: 0, count: wide - data.count)
        } else {
          entries += number(after, wide)
          values += data
          after += data.count
        }
      }
      links.append((header + body.count + entries.count, next[index] ?? index + 1))
      body += entries + number(0, wide) + values
    }
    var bytes = starts + number(0, wide) + body
    for link in links where link.page < pages.count {
      bytes.replaceSubrange(link.place..<link.place + wide, with: number(positions[link.page], wide))
    }
    return bytes
  }

  private func number(_ value: Int, _ bytes: Int) -> [UInt8] {
    let little = (0..<bytes).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    return isBigEndian ? little.reversed() : little
  }
}
