extension [UInt8] {
  /// The first offset of those four letters.
  func offset(of type: String) -> Int { indices.first { self[$0...].starts(with: type.utf8) }! }

  /// A box of that type around the bytes.
  func boxed(_ type: String) -> [UInt8] {
    Swift.withUnsafeBytes(of: UInt32(count + 8).bigEndian, Array.init) + type.utf8 + self
  }
}
