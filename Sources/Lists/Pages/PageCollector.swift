import Base

/// Resolves the URLs of a page or stylesheet and keeps them.
final class PageCollector {
  let rules: PageRules
  var base: BaseURL
  var remarks = PageRemarks()
  private(set) var text: [UInt8] = []
  private(set) var images: [PageImage] = []
  private(set) var links: [PageLink] = []
  private(set) var stylesheets: [PageStylesheet] = []

  private static let shownBytes = 256
  private let normalizer = URLNormalizer()

  init(_ rules: PageRules, base: BaseURL) {
    self.rules = rules
    self.base = base
  }

  private enum Resolution {
    case url(Range<Int>, URLParts)
    case invalid(Range<Int>, String)
    case skipped
  }

  func addImage(_ written: UnsafeRawBufferPointer, _ origin: PageOrigin, line: UInt64, claims: ImageClaims = ImageClaims()) {
    guard images.count < rules.limits.references else { return remarks.add(.images, line: line) }
    switch resolve(written, line: line) {
    case .url(let range, let parts):
      images.append(PageImage(url: range, parts: parts, line: line, origin: origin, claims: claims))
    case .invalid(let range, let problem):
      images.append(PageImage(url: range, parts: .empty, problem: problem, line: line, origin: origin, claims: claims))
    case .skipped: break
    }
  }

  /// Adds the candidates of a `srcset`, or of an attribute like it.
  func addImages(ofSourceSet written: UnsafeRawBufferPointer, _ origin: PageOrigin, line: UInt64, claims: ImageClaims) {
    for candidate in SourceSet(written) {
      guard let descriptor = candidate.descriptor else {
        remarks.candidates.add(line: line)
        continue
      }
      var claims = claims
      (claims.sourceWidth, claims.density) = (descriptor.width, descriptor.density)
      addImage(candidate.url, origin, line: line, claims: claims)
    }
  }

  func addLink(_ written: UnsafeRawBufferPointer, _ origin: PageOrigin, line: UInt64, isNoFollow: Bool = false) {
    guard let (range, parts) = resolveLink(written, line: line) else { return }
    links.append(PageLink(url: range, parts: parts, line: line, origin: origin, isNoFollow: isNoFollow))
  }

  func addStylesheet(_ written: UnsafeRawBufferPointer, line: UInt64, isWebManifest: Bool = false) {
    guard let (range, parts) = resolveLink(written, line: line) else { return }
    stylesheets.append(PageStylesheet(url: range, parts: parts, line: line, isWebManifest: isWebManifest))
  }

  /// Returns the URL of a `base` element; nil if it isn't valid.
  func baseURL(_ written: UnsafeRawBufferPointer) -> BaseURL? {
    let start = text.count
    defer { text.removeSubrange(start...) }
    guard case .url(let range, let parts) = resolve(written, line: 0) else { return nil }
    return text[range].withRawBytes { BaseURL(normalized: $0, parts: parts) }
  }

  private func resolveLink(_ written: UnsafeRawBufferPointer, line: UInt64) -> (Range<Int>, URLParts)? {
    guard links.count + stylesheets.count < rules.limits.references else {
      remarks.add(.links, line: line)
      return nil
    }
    let start = text.count
    switch resolve(written, line: line) {
    case .url(let range, let parts): return (range, parts)
    case .invalid:
      text.removeSubrange(start...)
      remarks.links.add(line: line)
    case .skipped: break
    }
    return nil
  }

  private func resolve(_ written: UnsafeRawBufferPointer, line: UInt64) -> Resolution {
    let visible = written.drop { $0 <= 0x20 }
    // Only a fragment: a part of the page itself.
    if visible.first == UInt8(ascii: "#") {
      remarks.otherURLs += 1
      return .skipped
    }
    let start = text.count
    guard start < rules.limits.textBytes else {
      remarks.add(.text, line: line)
      return .skipped
    }
    do throws(InvalidURL) {
      let parts = try normalizer.normalize(written, relativeTo: base, into: &text)
      return .url(start..<text.count, parts)
    } catch {
      switch error.reason {
      case .empty: return .skipped
      case .scheme:
        remarks.otherURLs += 1
        return .skipped
      default:
        text.append(contentsOf: visible.prefix(Self.shownBytes))
        return .invalid(start..<text.count, error.message)
      }
    }
  }
}
