import Base

/// The images that entries of a run have named so far, so that one in several lists counts once.
///
/// Memory is limited to 32 MiB, enough for 3 million images; further ones count each time. A run with a single list has none.
struct SeenImages {
  private var images = HashSet(maximumSlots: 1 << 22)

  /// Whether an earlier entry with this image had the same result: it was good, or it failed with the same kind and status.
  ///
  /// A failure whose image was good before, or failed for another reason, isn't lost.
  mutating func contains(_ result: EntryResult, ofImage image: UInt64) -> Bool {
    var group: UInt64
    switch result.outcome {
    case .hitMemory, .hitDisk, .downloaded, .revalidated, .checked: group = 1
    case .skipped: group = 2
    case .cancelled: group = 3
    case .failed, .blacklisted:
      group = 4 + UInt64(result.failure?.kind.rawValue ?? .max) + UInt64(clamping: result.failure?.status ?? 0) << 16
      // Lists may expect different images.
      if result.failure?.kind == .expectation { group ^= DuplicateIndex.hash(ofText: result.failure?.message ?? "") }
    }
    return if case .known = images.insert(image ^ group &* 0x9E37_79B9_7F4A_7C15, marked: false) { true } else { false }
  }
}

extension DuplicateIndex {
  fileprivate static func hash(ofText text: String) -> UInt64 {
    var text = text
    return text.withUTF8 { hash(UnsafeRawBufferPointer($0)) }
  }
}

extension ReportedEntry {
  /// Identifies its image and variant within this process.
  var imageKey: UInt64 { (imageHash ?? SameImagesLog.hash(ofURL: url)) &+ UInt64(variant) &* 0xA076_1D64_78BD_642F }

  /// `urls.txt:17`
  func location(in manifest: String) -> String { line > 0 ? "\(manifest):\(line)" : manifest }
}
