/// Builds animated PNGs frame by frame.
struct APNGBuilder {
  var canvas = PNGBuilder(width: 4, height: 2)
  /// Bytes after IHDR, of colour type 6: RGBA.
  private(set) var body: [UInt8] = []
  private var sequence = 0

  /// The acTL chunk; `frames` may be wrong.
  mutating func control(frames: Int, plays: Int = 0) {
    body += PNGBuilder.chunk("acTL", PNGBuilder.number(frames) + PNGBuilder.number(plays))
  }

  /// A frame's fcTL chunk.
  mutating func frame(
    _ width: Int,
    _ height: Int,
    x: Int = 0,
    y: Int = 0,
    delay: (UInt16, UInt16) = (1, 10),
    disposal: UInt8 = 0,
    blending: UInt8 = 0
  ) {
    var data = takeSequence()
    for number in [width, height, x, y] { data += PNGBuilder.number(number) }
    for number in [delay.0, delay.1] { data += [UInt8(number >> 8), UInt8(number & 0xFF)] }
    body += PNGBuilder.chunk("fcTL", data + [disposal, blending])
  }

  /// The still picture, of one colour.
  mutating func still(_ pixel: [UInt8]) {
    body += PNGBuilder.chunk("IDAT", PNGBuilder.rows(canvas.width, canvas.height, pixel))
  }

  /// A later frame's data, of one colour, in chunks of `count` bytes.
  mutating func data(_ width: Int, _ height: Int, _ pixel: [UInt8], by count: Int = .max) {
    var rest = PNGBuilder.rows(width, height, pixel)[...]
    while !rest.isEmpty {
      body += PNGBuilder.chunk("fdAT", takeSequence() + rest.prefix(count))
      rest = rest.dropFirst(count)
    }
  }

  mutating func append(_ chunk: [UInt8]) { body += chunk }

  /// Leaves out a sequence number.
  mutating func skipSequenceNumber() { sequence += 1 }

  private mutating func takeSequence() -> [UInt8] {
    defer { sequence += 1 }
    return PNGBuilder.number(sequence)
  }

  var file: [UInt8] { unended + PNGBuilder.end }

  var unended: [UInt8] {
    let size = PNGBuilder.number(canvas.width) + PNGBuilder.number(canvas.height)
    return PNGBuilder.signature + PNGBuilder.chunk("IHDR", size + [8, 6, 0, 0, 0]) + body
  }
}
