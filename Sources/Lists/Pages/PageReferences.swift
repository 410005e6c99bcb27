package import Base

/// An image that a page or stylesheet names.
package struct PageImage: Sendable {
  /// The range of its URL in the document's `text`: in normal form, or as written if there is a problem.
  package var url: Range<Int>
  /// Empty if there is a problem.
  package var parts: URLParts
  /// The reason why it has no valid URL.
  package var problem: String?
  /// The line of its element or declaration, from 1.
  package var line: UInt64
  package var origin: PageOrigin
  package var claims = ImageClaims()
}

/// Another page that a page names.
package struct PageLink: Sendable {
  /// The range of its URL in the document's `text`, in normal form.
  package var url: Range<Int>
  package var parts: URLParts
  package var line: UInt64
  package var origin: PageOrigin
  /// Whether `rel` has `nofollow`.
  package var isNoFollow: Bool
}

/// A stylesheet that a page or another stylesheet names, or the web app manifest of a page.
package struct PageStylesheet: Sendable {
  /// The range of its URL in the document's `text`, in normal form.
  package var url: Range<Int>
  package var parts: URLParts
  package var line: UInt64
  package var isWebManifest = false
}
