import Glibc
import ImagePrimitives

/// Finds URLs with the same bytes, and images that stand for many URLs of a host.
struct SameImagesLog {
  /// Placeholders that are kept in mind; what becomes one later is not.
  static let placeholderLimit = 4096
  /// Those that are reported, of most URLs.
  static let reportedLimit = Placeholder.listedLimit

  private var sightings: DuplicateIndex
  private let listsPlaceholders: Bool
  /// By ``DuplicateIndex/Sighting/group``.
  private var found: [UInt64: Placeholder] = [:]

  init(listsPlaceholders: Bool = true) {
    self.listsPlaceholders = listsPlaceholders
    sightings = DuplicateIndex(keepsURLs: listsPlaceholders)
  }

  /// Takes an entry whose image is good, or nothing but a placeholder; `host` is its index in the host table, nil where it has none there.
  mutating func record(_ result: EntryResult, of entry: ReportedEntry, host: Int?) {
    guard !result.isShared, let body = result.bodyIdentity else { return }
    let url = entry.imageHash ?? Self.hash(ofURL: entry.url)
    let sighting = sightings.add(body, url: url, host: host.map { UInt32($0) } ?? .max, shown: entry.url)
    guard sighting.isPlaceholder, listsPlaceholders, host != nil, let group = sighting.group else { return }
    guard found.count < Self.placeholderLimit, found[group] == nil else { return }
    found[group] = Placeholder(
      host: String(decoding: entry.host, as: UTF8.self),
      checksum: body,
      urls: 0,
      firstURL: sightings.firstURL(of: group) ?? String(decoding: entry.url, as: UTF8.self),
      format: result.format,
      width: result.width,
      height: result.height,
      bytes: result.bytes
    )
  }

  var duplicates: Duplicates {
    Duplicates(bodies: sightings.bodies, urls: sightings.urls, isComplete: sightings.isComplete)
  }

  /// The placeholders of most URLs, then by their first.
  var placeholders: [Placeholder] {
    let all = found.map { group, placeholder in
      var placeholder = placeholder
      placeholder.urls = UInt64(sightings.urls(of: group))
      return placeholder
    }
    return Array(all.sorted { ($1.urls, $0.firstURL) < ($0.urls, $1.firstURL) }.prefix(Self.reportedLimit))
  }

  /// A fragment is never sent, so that it makes no other image (RFC 9110, section 4.2.5).
  private static func hash(ofURL url: UnsafeRawBufferPointer) -> UInt64 {
    guard let start = url.baseAddress, let mark = memchr(start, Int32(UInt8(ascii: "#")), url.count) else {
      return DuplicateIndex.hash(url)
    }
    return DuplicateIndex.hash(UnsafeRawBufferPointer(start: start, count: UnsafeRawPointer(mark) - start))
  }
}
