import Platform
import Base

/// The parts of an SVG that browsers ignore in an image, and its embedded images.
struct SVGFindings {
  private static let maximumSentences = 10
  private static let xhtml: StaticString = "http://www.w3.org/1999/xhtml\n"
  private static let xlink: StaticString = "http://www.w3.org/1999/xlink\n"

  /// An image in a data URL.
  struct Image {
    let line: Int
    let bytes: [UInt8]
  }

  /// The images found so far.
  var images: [Image] = []
  private var listed: [String] = []
  private var unlisted = 0
  /// The bytes that images and a style sheet may still take: more than they have in the file, unless entities repeat them.
  private var room: Int

  /// The style sheet being read: the depth of its element, and its text.
  private var style: (depth: Int, line: Int, text: [UInt8])?

  /// Creates findings whose images and style sheets take at most that many bytes.
  init(maximumBytes: Int) { room = maximumBytes }

  /// One sentence for each finding, at most 11.
  var sentences: [String] {
    listed + (unlisted > 0 ? ["the SVG has \(unlisted) more such \(unlisted == 1 ? "problem" : "problems")"] : [])
  }

  mutating func add(_ sentence: @autoclosure () -> String) {
    if listed.count < Self.maximumSentences {
      listed.append(sentence())
    } else {
      unlisted += 1
    }
  }

  /// Examines a start tag; returns true if the text up to ``end(depth:)`` is needed.
  mutating func start(_ name: UnsafePointer<CChar>, _ attributes: SVGAttributes, depth: Int, line: () -> Int) -> Bool {
    let isHTML: Bool
    let element: UnsafePointer<CChar>
    if let local = name.dropping(SVGParser.namespace) {
      (element, isHTML) = (local, false)
    } else if let local = name.dropping(Self.xhtml) {
      (element, isHTML) = (local, true)
    } else {
      // Editors' own elements and metadata.
      return false
    }
    let isScript = element.equals("script")
    if isScript { add("line \(line()) has a script, which browsers don't run in an image") }
    if isHTML, element.equals("iframe") || element.equals("embed") || element.equals("object") {
      add("line \(line()) has an HTML <\(String(cString: element))>, which browsers don't load in an image")
    }
    let isLink = element.equals("a")
    let isImage = element.equals("image") || element.equals("feImage") || isHTML && element.equals("img")
    attributes.forEach { name, value in
      if name[0] == CChar(UInt8(ascii: "o")), name[1] == CChar(UInt8(ascii: "n")), name[2] != 0 {
        add("line \(line()) has the event handler '\(String(cString: name).quotable)', which browsers don't run in an image")
      } else if name.equals("href") || name.equals("src") || name.dropping(Self.xlink)?.equals("href") == true {
        if !isScript { addReference(value, isLink: isLink, isImage: isImage, line: line) }
      } else if name.holdsStyle {
        examine(style: ByteView(UnsafeRawBufferPointer(start: value, count: strlen(value))), line: { _ in line() })
      } else if name.equals("to") || name.equals("from") || name.equals("values") {
        // An animation can set a hyperlink.
        if value.isScriptURL { add("line \(line()) has a javascript: link, which browsers don't run in an image") }
      }
    }
    guard element.equals("style"), style == nil else { return false }
    style = (depth, line(), [])
    return true
  }

  /// Takes text of a style sheet.
  mutating func append(_ text: UnsafeRawBufferPointer) {
    guard let line = style?.line else { return }
    if style!.text.count + text.count <= room {
      style!.text.append(contentsOf: text)
    } else {
      addUnverified("style sheet", line: line)
    }
  }

  /// Ends an element, after which `depth` others are open; returns true if its text was needed.
  mutating func end(depth: Int) -> Bool {
    guard let style, depth < style.depth else { return false }
    self.style = nil
    style.text.withUnsafeBytes { text in
      examine(style: ByteView(text)) { offset in style.line + text[..<offset].count { $0 == UInt8(ascii: "\n") } }
    }
    return true
  }

  private mutating func addReference(_ value: UnsafePointer<CChar>, isLink: Bool, isImage: Bool, line: () -> Int) {
    if value.isScriptURL {
      add("line \(line()) has a javascript: link, which browsers don't run in an image")
    } else if isImage, let url = SVGDataURL(value) {
      guard let bytes = url.bytes else {
        return add("the embedded image on line \(line()) isn't valid Base64")
      }
      guard bytes.count <= room else { return addUnverified("embedded image", line: line()) }
      room -= bytes.count
      images.append(Image(line: line(), bytes: bytes))
    } else if !isLink, let target = SVGReference.external(UnsafeRawBufferPointer(start: value, count: strlen(value))) {
      addExternal(target, line: line())
    }
  }

  /// Notes once that there is no memory for more.
  private mutating func addUnverified(_ part: String, line: Int) {
    if room > 0 { add("the \(part) on line \(line) and later ones are too large to verify") }
    room = 0
  }

  private mutating func addExternal(_ target: String, line: Int) {
    add("line \(line) refers to '\(target.quotable)', which browsers don't load in an image")
  }

  /// Examines CSS; `line` returns the line of an offset.
  private mutating func examine(style: ByteView, line: (Int) -> Int) {
    SVGReference.forEachExternal(in: style) { target, offset in addExternal(target, line: line(offset)) }
  }
}

extension UnsafePointer<CChar> {
  /// Whether it is `style` or the name of a presentation attribute whose value may have a URL (SVG 2, section 6.6).
  fileprivate var holdsStyle: Bool {
    switch UInt8(bitPattern: pointee) {
    case UInt8(ascii: "c"): equals("clip-path") || equals("cursor")
    case UInt8(ascii: "f"): equals("fill") || equals("filter")
    case UInt8(ascii: "m"):
      equals("mask") || equals("marker-start") || equals("marker-mid") || equals("marker-end") || equals("marker")
    case UInt8(ascii: "s"): equals("style") || equals("stroke")
    default: false
    }
  }

  /// Whether the text is a `javascript:` URL, in which browsers ignore white space.
  fileprivate var isScriptURL: Bool {
    var rest = self
    for letter in "javascript:".utf8 {
      while UInt8(bitPattern: rest.pointee).isASCIIWhitespace { rest += 1 }
      guard UInt8(bitPattern: rest.pointee).asciiLowercased == letter else { return false }
      rest += 1
    }
    return true
  }
}
