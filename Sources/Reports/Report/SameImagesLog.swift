public import Base
import Glibc

/// How many URLs returned the same bytes as others.
public struct Duplicates: Sendable, Equatable {
  /// Bodies that came from more than one URL.
  public var bodies: UInt64 = 0
  /// The URLs that they came from.
  public var urls: UInt64 = 0
  /// Whether all bodies were compared; if there were too many, both counts are lower bounds.
  public var isComplete = true
}

/// An image that a host returned for so many URLs that it is probably a substitute for missing ones.
public struct Placeholder: Sendable, Equatable {
  /// How many a report lists, those with most URLs.
  static let listedLimit = 100

  /// Host and port, if it isn't the scheme's own.
  public var host = ""
  /// Of the body.
  public var checksum = Checksum(high: 0, low: 0)
  /// URLs that returned it.
  public var urls: UInt64 = 0
  /// As in its row.
  public var firstURL = ""
  /// Nil if unknown.
  public var format: ImageFormat?
  /// In pixels; 0 if unknown.
  public var width: UInt32 = 0
  /// In pixels; 0 if unknown.
  public var height: UInt32 = 0
  /// Of the body.
  public var bytes: UInt64 = 0

  /// The order of reports: most URLs first.
  func isBefore(_ other: Placeholder) -> Bool { (other.urls, firstURL) < (urls, other.firstURL) }
}

/// Finds URLs with the same bytes, and images that a host returns for many URLs.
struct SameImagesLog {
  /// The limit of placeholders that are recorded; later ones aren't.
  static let placeholderLimit = 4096

  private var sightings: DuplicateIndex
  private let listsPlaceholders: Bool
  /// By ``DuplicateIndex/Sighting/group``.
  private var found: [UInt64: Placeholder] = [:]

  init(listsPlaceholders: Bool = true) {
    self.listsPlaceholders = listsPlaceholders
    sightings = DuplicateIndex(keepsURLs: listsPlaceholders)
  }

  /// Another URL with the bytes of earlier ones.
  struct Repetition {
    /// By ``DuplicateIndex/Sighting/group``; nil if the other URL is of another host.
    fileprivate var group: UInt64?
  }

  /// The first URL with those bytes, as in its row; nil if it is unknown, or of another host.
  func firstURL(of repetition: Repetition) -> String? { repetition.group.flatMap { sightings.firstURL(of: $0) } }

  /// Records an entry whose image is good or a placeholder; `host` is its index in the host table, nil if the table doesn't have
  /// it. Returns nil if its bytes are new, or this URL returned them before.
  @discardableResult
  mutating func record(_ result: EntryResult, of entry: ReportedEntry, host: Int?) -> Repetition? {
    guard !result.isShared, let body = result.bodyIdentity else { return nil }
    let before = sightings.urls
    let url = entry.imageHash ?? Self.hash(ofURL: entry.url)
    let sighting = sightings.add(body, url: url, host: host.map { UInt32($0) } ?? .max, shown: entry.url)
    let repetition = sightings.urls > before ? Repetition(group: sighting.urls > 1 ? sighting.group : nil) : nil
    guard sighting.isPlaceholder, listsPlaceholders, host != nil, let group = sighting.group else { return repetition }
    guard found.count < Self.placeholderLimit, found[group] == nil else { return repetition }
    found[group] = Placeholder(
      host: String(decoding: entry.host, as: UTF8.self),
      checksum: body,
      urls: 0,
      firstURL: sightings.firstURL(of: group) ?? entry.shownURL,
      format: result.image.format,
      width: result.image.width,
      height: result.image.height,
      bytes: result.bytes
    )
    return repetition
  }

  var duplicates: Duplicates { Duplicates(bodies: sightings.bodies, urls: sightings.urls, isComplete: sightings.isComplete) }

  var placeholders: [Placeholder] {
    let all = found.map { group, placeholder in
      var placeholder = placeholder
      placeholder.urls = UInt64(sightings.urls(of: group))
      return placeholder
    }
    return Array(all.sorted { $0.isBefore($1) }.prefix(Placeholder.listedLimit))
  }

  /// A fragment is never sent, so it doesn't select another image (RFC 9110, section 4.2.5).
  static func hash(ofURL url: UnsafeRawBufferPointer) -> UInt64 {
    guard let start = url.baseAddress, let mark = memchr(start, Int32(UInt8(ascii: "#")), url.count) else {
      return DuplicateIndex.hash(url)
    }
    return DuplicateIndex.hash(UnsafeRawBufferPointer(start: start, count: UnsafeRawPointer(mark) - start))
  }
}

/// The images that entries of a run have named so far, so that one in several lists counts once. Memory is limited to 32 MiB,
/// enough for 3 million images; further ones count each time. A run with a single list has none.
struct SeenImages {
  private var images = HashSet(maximumSlots: 1 << 22)

  /// Whether an earlier entry with this image had the same result: it was good, or it failed with the same kind and status. A
  /// failure whose image was good before, or failed for another reason, isn't lost.
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
  /// The URL as rows show it.
  var shownURL: String { String(decoding: url, as: UTF8.self) }

  /// Identifies its image and variant within this process.
  var imageKey: UInt64 { (imageHash ?? SameImagesLog.hash(ofURL: url)) &+ UInt64(variant) &* 0xA076_1D64_78BD_642F }
}
