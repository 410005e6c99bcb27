import Glibc
import Base

/// Bytes per pixel of the images of a run, to find those far above the median of their format.
///
/// Buckets of 4 % each, so that memory doesn't grow with the number of images.
struct SizeStatistics {
  /// An image that may turn out to be far above the median.
  struct Candidate {
    var example: LintExample
    var format: ImageFormat
    var bytes: Double
    var pixels: Double
  }

  private struct Bucket {
    var count: UInt64 = 0
    var bytes = 0.0
    var pixels = 0.0
  }

  private struct Sizes {
    var buckets: [Int: Bucket] = [:]
    var count: UInt64 = 0
    /// Of the images so far, updated now and then; nil while there are few.
    var median: Double?

    mutating func add(bytes: Double, pixels: Double) {
      let index = SizeStatistics.index(bytes / pixels)
      var bucket = buckets[index] ?? Bucket()
      bucket.count += 1
      bucket.bytes += bytes
      bucket.pixels += pixels
      buckets[index] = bucket
      count += 1
      if count == SizeStatistics.leastImages || count.isMultiple(of: 256) { median = currentMedian }
    }

    var currentMedian: Double? {
      guard count >= SizeStatistics.leastImages else { return nil }
      var passed: UInt64 = 0
      for (index, bucket) in buckets.sorted(by: { $0.key < $1.key }) {
        passed += bucket.count
        if passed * 2 >= count { return SizeStatistics.value(index) }
      }
      return nil
    }
  }

  /// Fewer images have no usual size.
  private static let leastImages: UInt64 = 20
  private static let leastBytes: UInt64 = 20 << 10
  private static let leastPixels = 10_000.0
  private static let ratio = 4.0
  private static let candidateLimit = 64
  private static let bucketsPerDoubling = 16.0

  private var formats: [ImageFormat: Sizes] = [:]
  private var candidates: [Candidate] = []

  /// Still images of all formats with pixels count, unless they are small.
  mutating func add(_ result: EntryResult, _ example: () -> LintExample) {
    let pixels = Double(result.image.width) * Double(result.image.height)
    guard let format = result.image.format, format != .svg, result.image.frames == 1, !result.image.isAnimated,
      result.bytes >= Self.leastBytes,
      pixels >= Self.leastPixels
    else { return }
    let bytes = Double(result.bytes)
    formats[format, default: Sizes()].add(bytes: bytes, pixels: pixels)
    // By the median so far; a few that turn out to be usual are dropped in the end.
    if let median = formats[format]?.median, bytes / pixels <= median * Self.ratio / 2 { return }
    let candidate = Candidate(example: example(), format: format, bytes: bytes, pixels: pixels)
    if candidates.count < Self.candidateLimit { return candidates.append(candidate) }
    let least = candidates.indices.min { score(candidates[$0]) < score(candidates[$1]) }!
    if score(candidates[least]) < score(candidate) { candidates[least] = candidate }
  }

  /// The bytes beyond those that the median so far of its format would have.
  private func score(_ candidate: Candidate) -> Double {
    candidate.bytes - (formats[candidate.format]?.median ?? 0) * candidate.pixels
  }

  /// Images with more than four times the bytes per pixel of the median of their format, and what they would save at the median.
  var excess: LintSummary {
    var excess = LintSummary(rule: .oversized)
    let medians = formats.compactMapValues(\.currentMedian)
    for (format, median) in medians {
      for (index, bucket) in formats[format]!.buckets where index > Self.index(median * Self.ratio) {
        excess.count += bucket.count
        excess.savedBytes += UInt64(max(0, bucket.bytes - median * bucket.pixels))
      }
    }
    excess.examples = candidates.compactMap { candidate in
      guard let median = medians[candidate.format] else { return nil }
      let bytesPerPixel = candidate.bytes / candidate.pixels
      guard Self.index(bytesPerPixel) > Self.index(median * Self.ratio) else { return nil }
      var example = candidate.example
      example.savedBytes = UInt64(max(0, candidate.bytes - median * candidate.pixels))
      example.message =
        "\(fixed(bytesPerPixel, decimals: 2)) bytes per pixel, \(fixed(bytesPerPixel / median, decimals: 1)) times the median of "
        + candidate.format.name
      return example
    }
    return excess
  }

  private static func index(_ bytesPerPixel: Double) -> Int { Int((log2(bytesPerPixel) * bucketsPerDoubling).rounded(.down)) }

  /// The middle of a bucket.
  private static func value(_ index: Int) -> Double { exp2((Double(index) + 0.5) / bucketsPerDoubling) }
}
