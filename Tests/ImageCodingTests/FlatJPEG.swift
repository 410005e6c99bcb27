/// A JPEG of any size with pixels of one grey: its Huffman tables have a single code of one bit, 0, so that its data is zeros.
struct FlatJPEG {
  var width: Int
  var height: Int
  /// Three components, the last two of half the size (4:2:0), or one.
  var isColor = true
  var isProgressive = false

  var bytes: [UInt8] {
    let components: [[UInt8]] = isColor ? [[1, 0x22, 0], [2, 0x11, 0], [3, 0x11, 0]] : [[1, 0x11, 0]]
    var file: [UInt8] = [0xFF, 0xD8]
    file += Self.segment(0xDB, [0] + Array(repeating: 1, count: 64))
    file += Self.segment(
      isProgressive ? 0xC2 : 0xC0,
      [8] + Self.short(height) + Self.short(width) + [UInt8(components.count)] + components.joined()
    )
    let oneCode: [UInt8] = [1] + Array(repeating: 0, count: 15) + [0]
    file += Self.segment(0xC4, [0x00] + oneCode + [0x10] + oneCode)
    let everyComponent = Array(components.map { [$0[0], 0] }.joined())
    if isProgressive {
      // The DC coefficients, one bit per block; then each component's other coefficients, one end-of-block bit each.
      file += Self.segment(0xDA, [UInt8(components.count)] + everyComponent + [0, 0, 0]) + Self.zeros(bits: blocks)
      for component in components {
        file += Self.segment(0xDA, [1, component[0], 0, 1, 63, 0]) + Self.zeros(bits: blocks(of: component))
      }
    } else {
      file += Self.segment(0xDA, [UInt8(components.count)] + everyComponent + [0, 63, 0]) + Self.zeros(bits: 2 * blocks)
    }
    return file + [0xFF, 0xD9]
  }

  /// The number of blocks of all components in an interleaved scan.
  private var blocks: Int {
    let side = isColor ? 16 : 8
    return (width + side - 1) / side * ((height + side - 1) / side) * (isColor ? 6 : 1)
  }

  /// The number of blocks of a component in a separate scan, which aren't padded (A.2.2).
  private func blocks(of component: [UInt8]) -> Int {
    let side = component[0] > 1 ? 16 : 8
    return (width + side - 1) / side * ((height + side - 1) / side)
  }

  static func segment(_ marker: UInt8, _ data: [UInt8]) -> [UInt8] { [0xFF, marker] + short(data.count + 2) + data }

  private static func short(_ value: Int) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xFF)] }

  /// Zeros; the padding of the last byte may have any value.
  private static func zeros(bits: Int) -> [UInt8] { Array(repeating: 0, count: (bits + 7) / 8) }
}
