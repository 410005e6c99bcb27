import CJansson
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

  /// The maximum nesting of arrays and objects. jansson recurses per level, and allows 2,048.
  private static let maximumDepth = 64

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
    guard text.count <= collector.rules.limits.jsonBytes, Self.depth(of: text) <= Self.maximumDepth,
      let root = json_loadb(text.baseAddress, text.count, Int(JSON_DECODE_ANY), nil)
    else { return collector.remarks.json.add(line: line) }
    defer { json_decref(root) }
    read(root, property: nil)
  }

  /// Reads a value; `property` is the term whose value is an image.
  private func read(_ value: UnsafeMutablePointer<json_t>, property: String?) {
    switch value.pointee.type {
    case JSON_STRING:
      guard let property, let start = json_string_value(value) else { return }
      let written = UnsafeRawBufferPointer(start: start, count: json_string_length(value))
      collector.addImage(written, PageOrigin(element: element, attribute: property), line: line)
    case JSON_ARRAY:
      for index in 0..<json_array_size(value) {
        if let element = json_array_get(value, index) { read(element, property: property) }
      }
    case JSON_OBJECT: readMembers(of: value, isImage: property != nil || isImageObject(value))
    default: break
    }
  }

  private func readMembers(of object: UnsafeMutablePointer<json_t>, isImage: Bool) {
    var position = json_object_iter(object)
    while let current = position, let key = json_object_iter_key(current), let member = json_object_iter_value(current) {
      let name = String(cString: key)
      if images.contains(name) {
        read(member, property: name)
      } else if !urls.contains(name) {
        read(member, property: nil)
      } else if isImage {
        read(member, property: name)
      }
      position = json_object_iter_next(object, current)
    }
  }

  private func isImageObject(_ object: UnsafeMutablePointer<json_t>) -> Bool {
    guard let type = json_object_get(object, "@type") else { return false }
    let isName = { (value: UnsafeMutablePointer<json_t>?) in
      guard let name = json_string_value(value) else { return false }
      return ["ImageObject", "http://schema.org/ImageObject", "https://schema.org/ImageObject"].contains(String(cString: name))
    }
    return isName(type) || (0..<json_array_size(type)).contains { isName(json_array_get(type, $0)) }
  }

  /// The greatest number of brackets that are open at once outside strings.
  private static func depth(of text: UnsafeRawBufferPointer) -> Int {
    var (depth, maximum) = (0, 0)
    var isString = false
    var isEscaped = false
    for byte in text {
      if isString {
        if byte == UInt8(ascii: "\""), !isEscaped { isString = false }
        isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): isString = true
      case UInt8(ascii: "["), UInt8(ascii: "{"):
        depth += 1
        maximum = max(maximum, depth)
      case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
      default: break
      }
    }
    return maximum
  }
}
