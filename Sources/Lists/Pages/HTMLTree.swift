import CGumbo
import Glibc
import Base

/// The tree of a part of a page, by gumbo, which parses as browsers do without scripts. It owns gumbo's memory.
struct HTMLTree: ~Copyable {
  /// The reason why the text after the tree must be parsed separately, or can't be.
  let end: CGumboEnd
  /// The length of the text that the tree has.
  let bytes: Int
  /// The memory that gumbo used, including that of the attempt that failed.
  let usedBytes: Int
  private let tree: CGumboTree

  /// Parses a text, or its beginning if the whole exceeds a limit: up to the tag that did.
  ///
  /// The text must outlive the tree.
  init(_ text: UnsafeRawBufferPointer, _ limits: PageLimits, remainingBytes: Int) {
    var allowed = CGumboLimits(
      bytes: max(1 << 16, min(limits.treeBytes, remainingBytes)),
      depth: UInt32(limits.depth),
      attributes: UInt32(limits.attributes)
    )
    let start = text.bindMemory(to: CChar.self).baseAddress
    let whole = withUnsafePointer(to: CChar(0)) { cgumbo_parse(start ?? $0, text.count, allowed) }
    end = whole.end
    if whole.end == CGUMBO_COMPLETE {
      (tree, bytes, usedBytes) = (whole, text.count, whole.used)
      return
    }
    cgumbo_free(whole)
    // The text before the last tag has the depth at which gumbo gave up.
    allowed.depth += 8
    let beginning = withUnsafePointer(to: CChar(0)) { cgumbo_parse(start ?? $0, whole.last_tag, allowed) }
    (tree, bytes, usedBytes) = (beginning, whole.last_tag, whole.used + beginning.used)
  }

  deinit { cgumbo_free(tree) }

  /// Calls `visit` for each element in document order, except in templates, whose contents aren't shown.
  func forEachElement(_ visit: (HTMLElement) -> Void) {
    guard let document = tree.document else { return }
    // A stack instead of recursion: a thread's stack may be small.
    var stack: [(node: UnsafePointer<GumboNode>, next: UInt32)] = [(document, 0)]
    while let (node, next) = stack.last {
      let children = node.pointee.type == GUMBO_NODE_DOCUMENT ? node.pointee.v.document.children : node.pointee.v.element.children
      guard next < children.length, let child = children.data[Int(next)] else {
        stack.removeLast()
        continue
      }
      stack[stack.count - 1].next += 1
      let pointer = UnsafePointer(child.assumingMemoryBound(to: GumboNode.self))
      let type = pointer.pointee.type
      guard type == GUMBO_NODE_ELEMENT || type == GUMBO_NODE_TEMPLATE else { continue }
      let element = HTMLElement(pointer)
      // A declarative shadow root is shown (HTML Standard, section 4.12.3).
      if type == GUMBO_NODE_TEMPLATE, element.attribute("shadowrootmode") == nil { continue }
      visit(element)
      stack.append((pointer, 0))
    }
  }
}

/// An element of a tree, valid while the tree exists.
struct HTMLElement {
  private let node: UnsafePointer<GumboNode>

  fileprivate init(_ node: UnsafePointer<GumboNode>) { self.node = node }

  /// The name in lower case, for elements that gumbo knows; empty for others.
  var tag: GumboTag { node.pointee.v.element.tag }
  var isSVG: Bool { node.pointee.v.element.tag_namespace == GUMBO_NAMESPACE_SVG }
  var line: UInt64 { UInt64(node.pointee.v.element.start_pos.line) }

  /// The name in lower case.
  var name: String {
    let known = String(cString: gumbo_normalized_tagname(tag))
    if !known.isEmpty { return known }
    let tag = node.pointee.v.element.original_tag
    let written = UnsafeRawBufferPointer(start: tag.data, count: tag.length).dropFirst().prefix(64)
    let end: (UInt8) -> Bool = { $0.isASCIIWhitespace || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: ">") }
    return String(decoding: written.prefix { !end($0) }.map(\.asciiLowercased), as: UTF8.self)
  }

  var parent: HTMLElement? {
    guard let parent = node.pointee.parent, parent.pointee.type == GUMBO_NODE_ELEMENT else { return nil }
    return HTMLElement(UnsafePointer(parent))
  }

  /// Returns the value of an attribute without a namespace; nil if there is none.
  func attribute(_ name: String) -> UnsafeRawBufferPointer? { attribute(name, GUMBO_ATTR_NAMESPACE_NONE) }

  /// The `href` of an SVG element; the one without a namespace takes precedence (SVG 2, section 16.1.6).
  var reference: UnsafeRawBufferPointer? { attribute("href") ?? attribute("href", GUMBO_ATTR_NAMESPACE_XLINK) }

  /// The text of a `style` or `script`, with the line on which it starts.
  var text: (bytes: UnsafeRawBufferPointer, line: UInt64)? {
    let children = node.pointee.v.element.children
    for index in 0..<Int(children.length) {
      guard let child = children.data[index]?.assumingMemoryBound(to: GumboNode.self) else { continue }
      guard child.pointee.type == GUMBO_NODE_TEXT || child.pointee.type == GUMBO_NODE_CDATA else { continue }
      let text = child.pointee.v.text
      return (UnsafeRawBufferPointer(start: text.text, count: strlen(text.text)), UInt64(text.start_pos.line))
    }
    return nil
  }

  private func attribute(_ name: String, _ namespace: GumboAttributeNamespaceEnum) -> UnsafeRawBufferPointer? {
    let attributes = node.pointee.v.element.attributes
    return name.withCString { name in
      for index in 0..<Int(attributes.length) {
        guard let attribute = attributes.data[index]?.assumingMemoryBound(to: GumboAttribute.self),
          attribute.pointee.attr_namespace == namespace, strcmp(attribute.pointee.name, name) == 0
        else { continue }
        return UnsafeRawBufferPointer(start: attribute.pointee.value, count: strlen(attribute.pointee.value))
      }
      return nil
    }
  }
}
