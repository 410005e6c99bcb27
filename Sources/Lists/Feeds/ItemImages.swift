import CXXHash

/// The columns with images in a text feed of Google Merchant Center.
///
/// Their names may be written with spaces or underscores, in any letter case.
struct ProductColumns {
  /// The indices of the columns with the main image; a valid feed has one.
  let images: [Int]
  /// The indices of the columns with further images, separated by commas.
  let others: [Int]

  init(_ names: [String]) {
    let plain = names.map { $0.lowercased().replacing("_", with: " ") }
    images = plain.indices.filter { plain[$0] == "image link" }
    others = plain.indices.filter { ["additional image link", "lifestyle image link"].contains(plain[$0]) }
  }
}

/// The images of one item so far, by their URLs as written.
struct ItemImages {
  private var hashes: Set<UInt64> = []
  // Hashes can't be chosen to collide.
  private let seed = UInt64.random(in: .min ... .max)

  /// Adds an image; returns whether it is new.
  mutating func insert(_ url: UnsafeRawBufferPointer) -> Bool {
    hashes.insert(XXH3_64bits_withSeed(url.baseAddress, url.count, seed)).inserted
  }

  mutating func removeAll() { hashes.removeAll(keepingCapacity: true) }
}
