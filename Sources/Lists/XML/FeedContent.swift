import CXXHash
import Base

/// The images of a feed: RSS 2.0 or Atom (RFC 4287), with the attributes of Google Merchant Center and Media RSS.
final class FeedContent: XMLListContent {
  private enum Entry {
    /// An `item` or an `entry`.
    case item
    case image
  }

  private enum Capture {
    /// A required location may not be empty.
    case location(isRequired: Bool)
    /// `g:id`.
    case productID
    /// `guid` in RSS, `id` in Atom.
    case id
  }

  private let isAtom: Bool
  private let locations: XMLLocations
  private let namespaces: XMLNamespaces
  private var entry: (kind: Entry, depth: Int)?
  private var capture: (what: Capture, depth: Int, line: UInt64)?
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

  var hasEntries: Bool { true }
  var setsPriority: Bool { false }
  func addRemarks(to remarks: inout ReadingRemarks) {}

  // MARK: Parser events

  func start(_ element: XMLElement, depth: Int) {
    guard capture == nil else { return }
    switch entry {
    case nil: startEntry(element, depth: depth)
    case (.image, let start)?:
      if depth == start + 1, element.isNamed("url"), isRoot(element) { beginLocation(isRequired: false, element, depth) }
    case (.item, let start)?: startInItem(element, isField: depth == start + 1, depth: depth)
    }
  }

  func text(_ bytes: UnsafeRawBufferPointer, depth: Int) {
    guard let capture, capture.depth == depth else { return }
    switch capture.what {
    case .location: locations.appendText(bytes)
    case .productID: Self.append(bytes, to: &productID)
    case .id: Self.append(bytes, to: &id)
    }
  }

  func end(depth: Int) {
    if let capture, capture.depth == depth {
      if case .location(let isRequired) = capture.what { endLocation(isRequired: isRequired, line: capture.line) }
      self.capture = nil
    }
    if let entry, entry.depth == depth { end(entry.kind) }
  }

  private func isRoot(_ element: XMLElement) -> Bool { namespaces.meaning(of: element.prefix).contains(.root) }

  // MARK: Entries

  /// Items of RSS are in a channel, which is below the root.
  private func startEntry(_ element: XMLElement, depth: Int) {
    guard depth <= 3 else { return }
    if element.isNamed(isAtom ? "entry" : "item"), isRoot(element) {
      begin(.item, depth)
    } else if !isAtom, element.isNamed("image"), isRoot(element) {
      begin(.image, depth)
    } else if isAtom, depth == 2, element.isNamed("logo") || element.isNamed("icon"), isRoot(element) {
      begin(.image, depth)
      beginLocation(isRequired: false, element, depth)
    }
  }

  private func begin(_ kind: Entry, _ depth: Int) {
    entry = (kind, depth)
    locations.beginEntry()
  }

  private func end(_ kind: Entry) {
    var note: EntryNote?
    if kind == .item {
      locations.remarks.items += 1
      if !locations.isEntryEmpty { note = self.note }
    }
    locations.endEntry(note: note)
    entry = nil
    images.removeAll()
    productID.removeAll(keepingCapacity: true)
    id.removeAll(keepingCapacity: true)
  }

  private var note: EntryNote? {
    let texts = [productID, id].lazy.map { $0.withUnsafeBytes { String(decoding: $0.trimmedOfXMLSpace(), as: UTF8.self) } }
    return texts.first { !$0.isEmpty }.map { EntryNote(id: $0) }
  }

  private static func append(_ bytes: UnsafeRawBufferPointer, to field: inout [UInt8]) {
    let text = field.isEmpty ? bytes.drop(while: UnsafeRawBufferPointer.isXMLSpace) : bytes[...]
    field.append(contentsOf: text.prefix(RowFields.maximumIDBytes - field.count))
  }

  // MARK: Images of an item

  /// A field is a child of the item.
  private func startInItem(_ element: XMLElement, isField: Bool, depth: Int) {
    if element.isNamed("image_link") || element.isNamed("additional_image_link") || element.isNamed("lifestyle_image_link") {
      if isIn(.product, element) { beginLocation(isRequired: element.isNamed("image_link"), element, depth) }
    } else if element.isNamed("content") {
      if isIn(.media, element) { add("url", of: element, type: "type", medium: "medium") }
    } else if element.isNamed("thumbnail") {
      if isIn(.media, element) { add("url", of: element) }
    } else if isField {
      startField(element, depth: depth)
    }
  }

  private func startField(_ element: XMLElement, depth: Int) {
    if element.isNamed("id"), isIn(.product, element) {
      capture = (.productID, depth, element.line)
    } else if element.isNamed(isAtom ? "id" : "guid"), isRoot(element) {
      capture = (.id, depth, element.line)
    } else if !isAtom, element.isNamed("enclosure"), isRoot(element) {
      add("url", of: element, type: "type")
    } else if isAtom, element.isNamed("link"), isRoot(element) {
      if element.attribute("rel").map({ $0.trimmedOfXMLSpace().elementsEqual("enclosure".utf8) }) == true {
        add("href", of: element, type: "type")
      }
    }
  }

  private func isIn(_ meaning: XMLNamespaces.Meaning, _ element: XMLElement) -> Bool {
    namespaces.meaning(of: element.prefix).contains(meaning)
  }

  private func beginLocation(isRequired: Bool, _ element: XMLElement, _ depth: Int) {
    capture = (.location(isRequired: isRequired), depth, element.line)
    locations.beginText()
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
    let medium = medium.flatMap { element.attribute($0) }?.trimmedOfXMLSpace() ?? UnsafeRawBufferPointer(rebasing: url[..<0])
    let type = element.attribute(type)?.trimmedOfXMLSpace() ?? UnsafeRawBufferPointer(rebasing: url[..<0])
    let isImage =
      if !medium.isEmpty {
        medium.startsIgnoringCase("image")
      } else if !type.isEmpty {
        type.startsIgnoringCase("image/")
      } else {
        ImageExtension.ends(url.trimmedOfXMLSpace())
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

extension UnsafeRawBufferPointer {
  /// Whether the bytes start with those of `start`, which is in lower case.
  fileprivate func startsIgnoringCase(_ start: StaticString) -> Bool {
    count >= start.utf8CodeUnitCount
      && (0..<start.utf8CodeUnitCount).allSatisfy { index in
        let byte = self[index]
        return (0x41...0x5a ~= byte ? byte | 0x20 : byte) == start.utf8Start[index]
      }
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
