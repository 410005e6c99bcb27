import CXXHash
import Base

/// The images of a feed: RSS 2.0 or Atom (RFC 4287), with the attributes of Google Merchant Center and Media RSS.
final class FeedContent: XMLListContent {
  private let isAtom: Bool
  private let locations: XMLLocations
  private let namespaces: XMLNamespaces
  /// An `item` or an `entry`, or else an image of the feed's own.
  private var entry: (isItem: Bool, depth: Int)?
  private var productID: [UInt8] = []
  private var id: [UInt8] = []
  private var images = ItemImages()

  /// Returns nil if `root` isn't the first element of a feed.
  init?(_ root: XMLElement, _ locations: XMLLocations, _ namespaces: XMLNamespaces) {
    isAtom = root.isNamed("feed")
    guard isAtom || root.isNamed("rss") else { return nil }
    self.locations = locations
    self.namespaces = namespaces
  }

  // MARK: Parser events

  func start(_ element: XMLElement, depth: Int) -> XMLField? {
    switch entry {
    case nil: return startEntry(element, depth: depth)
    case (isItem: false, let start)?:
      return depth == start + 1 && element.isNamed("url") && isIn(.root, element) ? .location(.image, isRequired: false) : nil
    case (isItem: true, let start)?: return startInItem(element, isField: depth == start + 1)
    }
  }

  func end(_ field: XMLField, line: UInt64) {
    switch field {
    case .location(_, let isRequired): endLocation(isRequired: isRequired, line: line)
    case .productID: productID = locations.takeText(maximum: RowFields.maximumIDBytes)
    default: id = locations.takeText(maximum: RowFields.maximumIDBytes)
    }
  }

  func end(depth: Int) {
    guard let entry, entry.depth == depth else { return }
    var note: EntryNote?
    if entry.isItem {
      locations.remarks.items += 1
      let name = productID.isEmpty ? id : productID
      if !locations.isEntryEmpty, !name.isEmpty { note = EntryNote(id: String(decoding: name, as: UTF8.self)) }
    }
    locations.endEntry(note: note)
    self.entry = nil
    images.removeAll()
    (productID, id) = ([], [])
  }

  /// Items of RSS are in a channel, which is below the root.
  private func startEntry(_ element: XMLElement, depth: Int) -> XMLField? {
    guard depth <= 3, isIn(.root, element) else { return nil }
    let isItem = element.isNamed(isAtom ? "entry" : "item")
    let isLocation = isAtom && depth == 2 && (element.isNamed("logo") || element.isNamed("icon"))
    guard isItem || isLocation || !isAtom && element.isNamed("image") else { return nil }
    entry = (isItem, depth)
    locations.beginEntry()
    return isLocation ? .location(.image, isRequired: false) : nil
  }

  // MARK: Images of an item

  /// A field is a child of the item.
  private func startInItem(_ element: XMLElement, isField: Bool) -> XMLField? {
    if element.isNamed("image_link") || element.isNamed("additional_image_link") || element.isNamed("lifestyle_image_link") {
      return isIn(.product, element) ? .location(.image, isRequired: element.isNamed("image_link")) : nil
    }
    if element.isNamed("content") {
      if isIn(.media, element) { add("url", of: element, type: "type", medium: "medium") }
    } else if element.isNamed("thumbnail") {
      if isIn(.media, element) { add("url", of: element) }
    } else if isField {
      if element.isNamed("id"), isIn(.product, element) { return .productID }
      guard isIn(.root, element) else { return nil }
      if element.isNamed(isAtom ? "id" : "guid") { return .id }
      if !isAtom, element.isNamed("enclosure") { add("url", of: element, type: "type") }
      if isAtom, element.isNamed("link"),
        element.attribute("rel").map({ $0.trimmedOfXMLSpace().elementsEqual("enclosure".utf8) }) == true
      {
        add("href", of: element, type: "type")
      }
    }
    return nil
  }

  private func isIn(_ meaning: XMLNamespaces.Meaning, _ element: XMLElement) -> Bool {
    namespaces.meaning(of: element.prefix).contains(meaning)
  }

  private func endLocation(isRequired: Bool, line: UInt64) {
    locations.endText(line: line) { url in
      if url.isEmpty { return isRequired ? .image : nil }
      return images.insert(url) ? .image : nil
    }
  }

  /// Adds the URL in an attribute if it is that of an image: by the attributes `medium` and `type`, else by the URL's extension.
  private func add(_ name: StaticString, of element: XMLElement, type: StaticString, medium: StaticString? = nil) {
    guard let url = element.attribute(name) else { return }
    let isImage =
      if let medium = medium.flatMap({ element.attribute($0) }), !medium.trimmedOfXMLSpace().isEmpty {
        medium.hasPrefix("image")
      } else if let type = element.attribute(type), !type.trimmedOfXMLSpace().isEmpty {
        type.hasPrefix("image/")
      } else {
        url.hasImageExtension
      }
    if isImage { add(name, of: element) }
  }

  private func add(_ name: StaticString, of element: XMLElement) {
    guard let url = element.attribute(name) else { return }
    locations.beginText()
    locations.appendText(url)
    endLocation(isRequired: false, line: element.line)
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
