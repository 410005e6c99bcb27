/// A grey TIFF of 6144 x 3072 pixels in one strip, which starts at byte 8; its directory follows.
enum LateDirectory {
  static func tiff(pixelBytes: Int) -> [UInt8] {
    func little(_ value: Int, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
    let fields = [
      (256, 6144), (257, 3072), (258, 8), (259, 1), (262, 1), (273, 8), (277, 1), (278, 3072), (279, 6144 * 3072),
    ]
    // The strip's end doesn't depend on the directory's position: it begins within the strip if pixels are missing.
    var file = Array("II*\0".utf8) + little(8 + pixelBytes, 4) + [UInt8](repeating: 0x80, count: pixelBytes)
    file += little(fields.count, 2)
    for (tag, value) in fields { file += little(tag, 2) + little(4, 2) + little(1, 4) + little(value, 4) }
    return file + little(0, 4)
  }
}
