import ImagePrimitives

extension ICCProfile {
  /// The profile whose bytes are `data`, or begin so: its name is read out of the tag `desc`, which is a textDescriptionType in
  /// profiles of version 2 (ICC.1:2001-04, section 6.5.17) and a multiLocalizedUnicodeType in those of version 4 (ICC.1:2022,
  /// section 10.15).
  ///
  /// A profile that is cut before its name, or none at all, has no name; that is no error, as nothing here applies it.
  package init(data: UnsafeRawBufferPointer) {
    self.init(name: Self.description(in: ByteView(data)))
  }

  /// Names longer than this are taken for damage.
  private static let longestNameInBytes = 1024
  /// Profiles have about 10 tags, and the largest about 50.
  private static let mostTags = 200

  private static func description(in bytes: ByteView) -> String? {
    let tableOffset = 128
    guard let tags = bytes.bigEndian32(at: tableOffset) else { return nil }
    for index in 0..<min(tags, mostTags) {
      let entry = tableOffset + 4 + index * 12
      guard bytes.matches("desc", at: entry) else { continue }
      guard let offset = bytes.bigEndian32(at: entry + 4) else { return nil }
      let name = bytes.matches("mluc", at: offset) ? localizedText(in: bytes, at: offset) : plainText(in: bytes, at: offset)
      return name.flatMap { $0.isEmpty ? nil : $0 }
    }
    return nil
  }

  /// ASCII behind its count, which includes the zero at its end.
  private static func plainText(in bytes: ByteView, at offset: Int) -> String? {
    guard bytes.matches("desc", at: offset), let count = bytes.bigEndian32(at: offset + 8), count <= longestNameInBytes else {
      return nil
    }
    let characters = (0..<count).lazy.compactMap { bytes.byte(at: offset + 12 + $0) }.prefix { $0 != 0 }
    return String(decoding: Array(characters), as: UTF8.self)
  }

  /// UTF-16, the first of the languages that are there.
  private static func localizedText(in bytes: ByteView, at offset: Int) -> String? {
    guard let names = bytes.bigEndian32(at: offset + 8), names > 0,
      let count = bytes.bigEndian32(at: offset + 20), count <= longestNameInBytes,
      let start = bytes.bigEndian32(at: offset + 24), bytes.has(count, at: offset + start)
    else { return nil }
    let units = stride(from: 0, to: count - 1, by: 2).lazy.compactMap { bytes.bigEndian16(at: offset + start + $0) }
    return String(decoding: units.prefix { $0 != 0 }.map { UInt16($0) }, as: UTF16.self)
  }
}
