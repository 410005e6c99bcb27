import Base

/// Resolves the URLs of a page or stylesheet and keeps them.
final class PageCollector {
  let rules: PageRules
  var base: BaseURL
  var document = PageDocument()

  private static let shownBytes = 256
  private let normalizer = URLNormalizer()

  init(_ rules: PageRules, base: BaseURL) {
    self.rules = rules
    self.base = base
  }

  func addImage(_ written: UnsafeRawBufferPointer, _ origin: PageOrigin, line: UInt64, claims: ImageClaims = ImageClaims()) {
    guard document.images.count < rules.limits.references else { return document.remarks.add(.images, line: line) }
    guard let (url, parts, problem) = resolve(written, line: line) else { return }
    document.images.append(PageImage(url: url, parts: parts, problem: problem, line: line, origin: origin, claims: claims))
  }

  /// Adds the candidates of a `srcset`, or of an attribute like it.
  func addImages(ofSourceSet written: UnsafeRawBufferPointer, _ origin: PageOrigin, line: UInt64, claims: ImageClaims) {
    for candidate in SourceSet(written) {
      guard let descriptor = candidate.descriptor else {
        document.remarks.candidates.add(line: line)
        continue
      }
      var claims = claims
      (claims.sourceWidth, claims.density) = (descriptor.width, descriptor.density)
      addImage(candidate.url, origin, line: line, claims: claims)
    }
  }

  func addLink(_ written: UnsafeRawBufferPointer, line: UInt64, isNoFollow: Bool = false) {
    guard var link = link(written, line: line) else { return }
    link.isNoFollow = isNoFollow
    document.links.append(link)
  }

  func addStylesheet(_ written: UnsafeRawBufferPointer, line: UInt64, isWebManifest: Bool = false) {
    guard var link = link(written, line: line) else { return }
    link.isWebManifest = isWebManifest
    document.stylesheets.append(link)
  }

  /// Returns the URL of a `base` element; nil if it isn't valid.
  func baseURL(_ written: UnsafeRawBufferPointer) -> BaseURL? {
    let start = document.text.count
    defer { document.text.removeSubrange(start...) }
    guard let (url, parts, problem) = resolve(written, line: 0), problem == nil else { return nil }
    return document.text[url].withRawBytes { BaseURL(normalized: $0, parts: parts) }
  }

  private func link(_ written: UnsafeRawBufferPointer, line: UInt64) -> PageLink? {
    guard document.links.count + document.stylesheets.count < rules.limits.references else {
      document.remarks.add(.links, line: line)
      return nil
    }
    guard let (url, parts, problem) = resolve(written, line: line) else { return nil }
    if problem == nil { return PageLink(url: url, parts: parts, line: line) }
    document.text.removeSubrange(url)
    document.remarks.links.add(line: line)
    return nil
  }

  /// Appends a URL to the text, or its beginning if it has a problem; nil if it is skipped.
  private func resolve(_ written: UnsafeRawBufferPointer, line: UInt64) -> (url: Range<Int>, URLParts, problem: String?)? {
    let visible = written.drop { $0 <= 0x20 }
    // Only a fragment: a part of the page itself.
    if visible.first == UInt8(ascii: "#") {
      document.remarks.otherURLs += 1
      return nil
    }
    let start = document.text.count
    guard start < rules.limits.textBytes else {
      document.remarks.add(.text, line: line)
      return nil
    }
    do throws(InvalidURL) {
      let parts = try normalizer.normalize(written, relativeTo: base, into: &document.text)
      return (start..<document.text.count, parts, nil)
    } catch {
      if error.reason == .scheme { document.remarks.otherURLs += 1 }
      if error.reason == .scheme || error.reason == .empty { return nil }
      document.text.append(contentsOf: visible.prefix(Self.shownBytes))
      return (start..<document.text.count, .empty, error.message)
    }
  }
}
