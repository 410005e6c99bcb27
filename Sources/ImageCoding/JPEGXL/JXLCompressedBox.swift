#if RareFormats
import CJXL
import Base

/// A box whose content is compressed by Brotli (`brob`, ISO/IEC 18181-2, section 9.7), which libjxl inflates.
enum JXLCompressedBox {
  /// Longer content isn't read, since it may be a decompression bomb; Exif segments of JPEGs have at most 64 KiB.
  private static let maximumBytes = 256 << 10

  /// The signature and the file type of a container, to which only the box is added.
  private static let containerStart = Array("\0\0\0\u{C}JXL \r\n".utf8) + [0x87, 0x0A] + "\0\0\0\u{14}ftypjxl \0\0\0\0jxl ".utf8

  /// The content of `box`, which starts with its header; nil if it is damaged or too long, or if libjxl isn't installed.
  static func content(of box: UnsafeRawBufferPointer) -> [UInt8]? {
    guard let jxl = try? CJXLFunctions.loaded(), let decoder = jxl.create(nil) else { return nil }
    defer { jxl.destroy(decoder) }
    var file = containerStart
    file += box
    let isReady =
      jxl.subscribeEvents(decoder, Int32(JXL_DEC_BOX.rawValue)) == JXL_DEC_SUCCESS
      && jxl.setDecompressBoxes(decoder, JXL_TRUE) == JXL_DEC_SUCCESS
    guard isReady else { return nil }
    let result = file.withUnsafeBufferPointer { file -> [UInt8]? in
      guard jxl.setInput(decoder, file.baseAddress, file.count) == JXL_DEC_SUCCESS else { return nil }
      // The signature, the file type, and the box.
      for _ in 0..<3 { guard jxl.processInput(decoder) == JXL_DEC_BOX else { return nil } }
      return [UInt8](unsafeUninitializedCapacity: maximumBytes) { output, written in
        guard jxl.setBoxBuffer(decoder, output.baseAddress, output.count) == JXL_DEC_SUCCESS else { return }
        let status = jxl.processInput(decoder)
        let rest = jxl.releaseBoxBuffer(decoder)
        // At the end of the box, libjxl asks for the next one.
        if status == JXL_DEC_NEED_MORE_INPUT { written = output.count - rest }
      }
    }
    return result.flatMap { $0.isEmpty ? nil : $0 }
  }
}
#endif
