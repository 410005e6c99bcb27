import Base

/// Finds the images of a JSON text by its terms, however they are nested.
struct JSONImages {
  enum Terms {
    /// Values of `image`, `logo` and `thumbnailUrl`, and the content of each ImageObject of schema.org, as in JSON-LD.
    case schemaOrg
    /// Icons and screenshots of a web app manifest, also of its shortcuts (Web Application Manifest, section 1).
    case webManifest

    fileprivate var images: Set<String> {
      switch self {
      case .schemaOrg: ["image", "logo", "thumbnailUrl"]
      case .webManifest: ["icons", "screenshots"]
      }
    }

    /// The members of an image that are its URL. The `url` of an ImageObject is that of the image, as search engines document it.
    fileprivate var urls: Set<String> {
      switch self {
      case .schemaOrg: ["contentUrl", "url"]
      case .webManifest: ["src"]
      }
    }
  }

  private let images: Set<String>
  private let urls: Set<String>
  private let element: String
  private let collector: PageCollector
  private let line: UInt64

  /// `line` is that of the `script` element.
  init(_ terms: Terms, _ collector: PageCollector, line: UInt64) {
    (images, urls) = (terms.images, terms.urls)
    element = terms == .schemaOrg ? "script" : "manifest"
    self.collector = collector
    self.line = line
  }

  func read(_ text: UnsafeRawBufferPointer) {
    guard text.count <= collector.rules.limits.jsonBytes else { return collector.document.remarks.json.add(line: line) }
    let scratch = GrowingBytes()
    do throws(JSONError) {
      // An invalid text has no images.
      var cursor = JSONCursor(text, scratch: scratch)
      try cursor.skipValue()
      try cursor.expectEnd()
      cursor = JSONCursor(text, scratch: scratch)
      try read(&cursor, property: nil)
    } catch {
      collector.document.remarks.json.add(line: line)
    }
  }

  /// Reads a value; `property` is the term whose value is an image.
  private func read(_ cursor: inout JSONCursor, property: String?) throws(JSONError) {
    if let written = try cursor.string() {
      if let property { collector.addImage(written, PageOrigin(element: element, attribute: property), line: line) }
      return
    }
    if try cursor.elements({ cursor throws(JSONError) in try read(&cursor, property: property) }) { return }
    let isImage = if property != nil { true } else { try isImageObject(cursor) }
    let isObject = try cursor.fields { name, cursor throws(JSONError) in
      let name = String(decoding: name, as: UTF8.self)
      if images.contains(name) || urls.contains(name) && isImage {
        try read(&cursor, property: name)
      } else if !urls.contains(name) {
        try read(&cursor, property: nil)
      }
    }
    if !isObject { try cursor.skipValue() }
  }

  private func isImageObject(_ object: JSONCursor) throws(JSONError) -> Bool {
    let mark = object.scratch.count
    defer { object.scratch.removeAll(from: mark) }
    var (cursor, isImage) = (object, false)
    func readType(_ cursor: inout JSONCursor) throws(JSONError) {
      guard let name = try cursor.scalar(skipsOthers: true).map({ String(decoding: $0, as: UTF8.self) }) else { return }
      let names = ["ImageObject", "http://schema.org/ImageObject", "https://schema.org/ImageObject"]
      isImage = isImage || names.contains(name)
    }
    _ = try cursor.fields { name, cursor throws(JSONError) in
      guard name.elementsEqual("@type".utf8) else { return }
      if try !cursor.elements(readType) { try readType(&cursor) }
    }
    return isImage
  }
}
