/// What a list says about an entry besides its URL; the ``Entry/owner`` of entries that have one.
package final class EntryNote: Sendable {
  /// The identifier of its row, such as that of a product.
  package let id: String?
  /// The part of a page that names it; nil in other lists.
  package let origin: PageOrigin?
  /// How many pages use it; 0 if unknown.
  package let pages: UInt64
  /// Nil if the list states none.
  package let expectation: ImageExpectation?
  /// What the page says about its size, which may differ from place to place.
  package let claims: [ImageClaims]
  /// When the image may have changed: a cached one that is older is due. Nil if its age decides alone.
  package let modified: Timestamp?

  public init(
    id: String? = nil,
    origin: PageOrigin? = nil,
    pages: UInt64 = 0,
    expectation: ImageExpectation? = nil,
    claims: [ImageClaims] = [],
    modified: Timestamp? = nil
  ) {
    self.id = id
    self.origin = origin
    self.pages = pages
    self.expectation = expectation
    self.claims = claims
    self.modified = modified
  }

  /// The same with a number of pages.
  package func used(by pages: UInt64) -> EntryNote {
    EntryNote(id: id, origin: origin, pages: pages, expectation: expectation, claims: claims, modified: modified)
  }
}

/// The part of a document that names a URL.
package struct PageOrigin: Sendable, Hashable {
  /// The name of the element, in lower case; `style` for all declarations.
  package var element: String
  /// The name of the attribute, relation, metadata property or CSS property, such as `srcset`, `icon`, `og:image` or `background`.
  package var attribute: String

  package init(element: String, attribute: String) {
    self.element = element
    self.attribute = attribute
  }
}

extension EntryBatch {
  /// What its list says about the entry at `index`; nil if that is only its URL.
  package func note(_ index: Int) -> EntryNote? { hasOwners ? owner(index) as? EntryNote : nil }
}

extension Entry {
  /// What its list says about it; nil if that is only its URL.
  package var note: EntryNote? { owner as? EntryNote }
  /// Whether the SHA-256 of its body is needed.
  package var needsSHA256: Bool { note?.expectation?.sha256 != nil }
}
