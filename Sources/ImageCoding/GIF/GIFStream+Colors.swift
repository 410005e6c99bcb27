import CGIF

extension GIFStream {
  /// The frame's colours as RGBA in the order of memory, 256 of them: of its own table, else of the screen's, else grey; those
  /// beyond a table are black. The transparent one is 0.
  func palette(_ frame: Frame) -> [UInt32] {
    var colors = [UInt32](repeating: Self.pixel(0, 0, 0), count: 256)
    if let map = (file.pointee.Image.ColorMap ?? file.pointee.SColorMap)?.pointee {
      for index in 0..<min(256, Int(map.ColorCount)) {
        let color = map.Colors[index]
        colors[index] = Self.pixel(color.Red, color.Green, color.Blue)
      }
    } else {
      for index in 0..<256 { colors[index] = Self.pixel(UInt8(index), UInt8(index), UInt8(index)) }
    }
    if let index = frame.control.transparentIndex { colors[index] = 0 }
    return colors
  }

  /// The colour of the screen where no picture is, opaque: the one named in the screen's table; black where there is none.
  var background: UInt32 {
    let index = Int(file.pointee.SBackGroundColor)
    guard let map = file.pointee.SColorMap?.pointee, index < map.ColorCount else { return Self.pixel(0, 0, 0) }
    return Self.pixel(map.Colors[index].Red, map.Colors[index].Green, map.Colors[index].Blue)
  }

  private static func pixel(_ red: UInt8, _ green: UInt8, _ blue: UInt8) -> UInt32 {
    UInt32(littleEndian: UInt32(red) | UInt32(green) << 8 | UInt32(blue) << 16 | 0xFF00_0000)
  }
}
