package import ImageURLs

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

/// The part of a document that names a URL.
package struct PageOrigin: Sendable, Hashable {
  /// The name of the element, in lower case; `style` for all declarations.
  package var element: String
  /// The name of the attribute, relation, metadata property or CSS property, such as `srcset`, `icon`, `og:image` or `background`.
  package var attribute: String
}

/// The markup's claims about an image, which aren't checked.
package struct ImageClaims: Sendable, Hashable {
  /// The width and density of a `srcset`, or the resolution of an `image-set()`.
  package var descriptor: SourceDescriptor?
  /// The attribute `sizes`.
  package var sizes: String?
  /// The attribute `media` of a `source`.
  package var media: String?
  /// The media type that the element or `image-set()` claims.
  package var type: String?
  /// The attributes `width` and `height`, in CSS pixels.
  package var width: UInt32?
  package var height: UInt32?
}

/// The descriptors of an image candidate (HTML Standard, section 4.8.4.2.1).
package struct SourceDescriptor: Sendable, Hashable {
  /// In pixels, as in `640w`.
  package var width: UInt32?
  /// In pixels, as in `480h`.
  package var height: UInt32?
  /// Image pixels per CSS pixel, as in `2x`.
  package var density: Double?
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

/// A stylesheet that a page or another stylesheet names.
package struct PageStylesheet: Sendable {
  /// The range of its URL in the document's `text`, in normal form.
  package var url: Range<Int>
  package var parts: URLParts
  package var line: UInt64
}
