package import Base

/// Verifies SVG and, compressed by gzip, SVGZ with Expat and zlib; it has no renderer, so it decodes no pixels.
///
/// The root element must be `svg` in the namespace `http://www.w3.org/2000/svg`, with or without prefix, and the document well-formed to
/// its end (XML 1.0, section 2.1), in UTF-8, UTF-16 or a one- or two-byte encoding that iconv knows. Internal entities are expanded as
/// far as Expat's protection against amplification allows; external and parameter entities are rejected, and nothing is ever loaded.
///
/// A verification warns about the parts that browsers ignore in an image (SVG 2, section 2.2, secure animated mode): scripts, event
/// handlers, embedded HTML pages and references to other resources except hyperlinks; about entities without declaration; and about
/// embedded images that ``ImageCoderRegistry/standard`` rejects.
///
/// ``DecodingLimits/maximumPixels`` doesn't apply, since SVG scales; ``DecodingLimits/maximumTime`` and
/// ``DecodingLimits/maximumBytes`` do. A document may have 10,000,000 elements and attributes, nested up to 1,000 deep, and 500
/// entities. SVGZ may expand 200-fold beyond its first MiB.
package struct SVGCoder: ImageCoder {
  /// The coders of embedded images; nil: ``ImageCoderRegistry/standard``, which this one is part of.
  private let images: ImageCoderRegistry?

  package init() { images = nil }

  init(images: ImageCoderRegistry) { self.images = images }

  package func canDecode(_ format: ImageFormat) -> Bool { format == .svg }

  /// False.
  package var decodesPixels: Bool { false }

  /// Reads the text up to the root element's start tag, or of a complete file the whole document.
  ///
  /// The size is that of the attributes `width` and `height` in CSS pixels, rounded up. If one is missing or relative to the page, the
  /// aspect ratio of `viewBox` determines it; if both are, `viewBox` does. Otherwise it is 300 x 150 (SVG 2, sections 8.6 and 8.9; CSS
  /// Images 3, section 4.3.1). Styles don't count, as in browsers.
  package func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
    try SVGDocument(prefix, isComplete: isComplete, until: isComplete ? .end : .root, limits: DecodingLimits()).header
  }

  /// Throws ``ImageError/Kind/unavailable`` for a good file, since there is no renderer, and the reason for a bad one.
  package func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    _ = try SVGDocument(bytes, isComplete: true, until: .end, limits: limits)
    throw ImageError(.unavailable, "the image is SVG, which can be verified but not decoded to pixels")
  }

  /// Parses the whole document, and decodes embedded images without keeping their pixels.
  package func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> ImageProof {
    let deadline = DecodingDeadline(limits)
    var document = try SVGDocument(bytes, isComplete: true, until: .endWithFindings, limits: limits)
    try document.proveImages(by: images ?? .standard, limits: limits, deadline: deadline)
    return ImageProof(header: document.header, warnings: document.findings.sentences)
  }
}

/// The result of parsing an SVG.
struct SVGDocument {
  /// How much is parsed.
  enum Goal {
    /// The start tag of the root element.
    case root
    case end
    /// The end, with findings about the content.
    case endWithFindings
  }

  let header: ImageHeader
  var findings: SVGFindings

  init(_ bytes: UnsafeRawBufferPointer, isComplete: Bool, until goal: Goal, limits: DecodingLimits) throws(ImageError) {
    guard ImageFormat(prefix: bytes) == .svg else {
      if !isComplete, ContentSniff.bytesNeeded(after: bytes) != nil { throw Self.needsMore(bytes) }
      throw ImageError(.notAnImage, "the first bytes aren't those of an SVG")
    }
    let text = SVGText(bytes, isComplete: isComplete)
    let memory = min(text.memory, limits.allowedBytes)
    let parser = try limits.spending(memory) { () throws(ImageError) in
      let parser = SVGParser(goal: goal, maximumMemory: memory, limits: limits)
      while let piece = try text.next(atLeast: parser.unendedBytes) {
        if try parser.parse(piece, isLast: isComplete && text.isAtEnd) { break }
      }
      return parser
    }
    guard let size = parser.size else { throw Self.needsMore(bytes) }
    header = ImageHeader(format: .svg, size: size, hasAlpha: true)
    findings = parser.findings
  }

  private static func needsMore(_ bytes: UnsafeRawBufferPointer) -> ImageError {
    .endsEarly("SVG", needed: bytes.count + 1, of: bytes.count, isComplete: false)
  }

  private static let maximumDepth = 3

  /// Adds the embedded images that can't be decoded to the findings, and those in embedded SVGs.
  mutating func proveImages(
    by coders: ImageCoderRegistry,
    limits: DecodingLimits,
    deadline: DecodingDeadline,
    depth: Int = 1
  ) throws(ImageError) {
    for image in findings.images {
      try deadline.check()
      var limits = limits
      limits.maximumTime = deadline.remaining
      do throws(ImageError) {
        try image.bytes.withRawBytes { bytes throws(ImageError) in
          guard let format = ImageFormat(prefix: bytes) else { throw ImageError(.notAnImage, "it is of no known image format") }
          guard let coder = coders.coder(for: format) else {
            throw ImageError(.unavailable, "no coder decodes \(format.name) images")
          }
          if coder.decodesPixels {
            _ = try coder.proveDecodable(bytes, limits: limits)
          } else {
            var document = try SVGDocument(bytes, isComplete: true, until: .endWithFindings, limits: limits)
            if depth < Self.maximumDepth {
              try document.proveImages(by: coders, limits: limits, deadline: deadline, depth: depth + 1)
            }
            for sentence in document.findings.sentences { findings.add("in the embedded SVG on line \(image.line), \(sentence)") }
          }
        }
      } catch {
        findings.add("the embedded image on line \(image.line) can't be decoded: \(error.message)")
      }
    }
    findings.images = []
  }
}
