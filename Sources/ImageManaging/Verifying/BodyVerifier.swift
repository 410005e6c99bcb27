public import ImageCaching
public import ImageCoding
import ImageDownloading
public import ImagePrimitives

/// A verified body, with its pixels if they are kept.
typealias ProvenBody = (verified: VerifiedImage, decoded: DecodedImage?)

/// Proves a body good under a job's rules, or says why it is not.
struct BodyVerifier: Sendable {
  let coders: ImageCoderRegistry
  let rules: VerificationRules
  /// Whether the pixels are kept, so that every image is decoded.
  var decodes = false
  /// What is wanted of the pixels.
  var options = DecodingOptions()
  /// Memory that is shared with all who decode.
  var budget: DecodingBudget?

  /// Checks a body as it came from a server.
  ///
  /// - Parameters:
  ///   - bytes: the body, or as much of its beginning as is at hand.
  ///   - byteCount: how many bytes the whole body has; nil where nobody knows.
  ///   - contentType: the declared type.
  func verify(_ bytes: UnsafeRawBufferPointer, byteCount: Int?, contentType: String?) throws(Failure) -> ProvenBody {
    if byteCount == 0 { throw Failure(.empty, message: "the body is empty") }
    let format = try recognise(bytes, contentType: contentType)
    let match = format.map { ContentTypeMatch(declared: contentType, format: $0) } ?? .generic
    var image = VerifiedImage(format: format, contentTypeMatch: match)
    if let format {
      try check(format, contentType: contentType)
    } else if rules.formats != nil || decodes {
      throw Failure(.notAnImage, message: "the first bytes are of no known image format")
    }
    if let byteCount, let failure = rules.failure(byteCount: byteCount) { throw failure }
    if let warning = Self.warning(match, declared: contentType, format: format) { image.warnings.append(warning) }
    guard rules.depth > .none || decodes, let format else { return (image, nil) }
    let decoded = try prove(bytes, isComplete: bytes.count == byteCount, format: format, into: &image)
    return (image, decoded)
  }

  /// Checks a body out of the cache, whose declared type was judged by its record.
  func prove(_ bytes: UnsafeRawBufferPointer, contentTypeMatch: ContentTypeMatch) throws(Failure) -> ProvenBody {
    guard let format = try recognise(bytes, contentType: nil) else {
      throw Failure(.notAnImage, message: "the first bytes are of no known image format")
    }
    var image = VerifiedImage(format: format, contentTypeMatch: contentTypeMatch)
    if let failure = rules.failure(format: format) { throw failure }
    let decoded = try prove(bytes, isComplete: true, format: format, into: &image)
    return (image, decoded)
  }

  /// Checks a format against the rules, and the declared type against the format.
  func check(_ format: ImageFormat, contentType: String?) throws(Failure) {
    let match = ContentTypeMatch(declared: contentType, format: format)
    if let failure = rules.failure(contentType: match, declared: contentType, format: format) { throw failure }
    if let failure = rules.failure(format: format) { throw failure }
  }

  /// Why an image of a format without coder is no good.
  func undecoded(_ format: ImageFormat) -> Failure {
    let reason = FailureReason.undecoded(format)
    if !decodes { return Failure(reason) }
    return Failure(.format, message: "\(reason.finding), and its pixels are to be transformed or shown")
  }

  func recognise(_ bytes: UnsafeRawBufferPointer, contentType: String?) throws(Failure) -> ImageFormat? {
    let served = contentType.map { ", served as \($0)" } ?? ""
    switch ContentSniff(prefix: bytes) {
    case .image(let format): return format
    case .empty: throw Failure(.empty, message: "the body is empty")
    case .html: throw Failure(.notAnImage, message: "the body is HTML\(served)")
    case .xml: throw Failure(.notAnImage, message: "the body is XML\(served)")
    case .json: throw Failure(.notAnImage, message: "the body is JSON\(served)")
    case .text: throw Failure(.notAnImage, message: "the body is text\(served)")
    case .unknown:
      if rules.depth == .none { return nil }
      throw Failure(.notAnImage, message: "the first bytes are of no known image format\(served)")
    }
  }

  /// Proves as much as the rules ask for; the pixels, where they are kept.
  private func prove(
    _ bytes: UnsafeRawBufferPointer,
    isComplete: Bool,
    format: ImageFormat,
    into image: inout VerifiedImage
  ) throws(Failure) -> DecodedImage? {
    guard let coder = coders.coder(for: format) else { throw undecoded(format) }
    do {
      let header = try header(of: bytes, isComplete: isComplete, by: coder)
      image.size = header.size
      image.frames = header.frames
      image.isAnimated = header.isAnimated
      image.proof = .header
      if let failure = rules.failure(size: header.size) { throw failure }
      if let failure = rules.failure(isAnimated: header.isAnimated) { throw failure }
      let limits = DecodingLimits(maximumPixels: rules.maximumPixels, budget: budget)
      let decoded = decodes ? try coder.decode(bytes, options: options, limits: limits) : nil
      if let decoded { try take(decoded.warnings, into: &image) }
      if decoded?.isWhole == true {
        image.proof = .full
      } else if rules.depth == .full {
        try take(try coder.proveDecodable(bytes, limits: limits).warnings, into: &image)
        image.proof = .full
      }
      return decoded
    } catch let failure as Failure {
      throw failure
    } catch let error as ImageError {
      throw Failure(error)
    } catch {
      throw Failure(.internal, message: "\(error)")
    }
  }

  /// The header. An image of which only the beginning is here, too little for its header, can't be judged.
  private func header(
    of bytes: UnsafeRawBufferPointer,
    isComplete: Bool,
    by coder: any ImageCoder
  ) throws(Failure) -> ImageHeader {
    do throws(ImageError) {
      return try coder.header(of: bytes, isComplete: isComplete)
    } catch {
      guard !isComplete, case .needsMoreBytes = error.kind else { throw Failure(error) }
      throw Failure(
        .dimensions,
        message: "the header goes on beyond the first \(bytes.count) bytes, so that width and height cannot be judged"
      )
    }
  }

  /// Keeps what the decoder found odd, unless that is a failure.
  private func take(_ warnings: [String], into image: inout VerifiedImage) throws(Failure) {
    if let failure = rules.failure(decoderWarnings: warnings) { throw failure }
    for warning in warnings where !image.warnings.contains(warning) { image.warnings.append(warning) }
    if !warnings.isEmpty { image.hasDecoderWarnings = true }
  }

  private static func warning(_ match: ContentTypeMatch, declared: String?, format: ImageFormat?) -> String? {
    guard let format else { return nil }
    switch match {
    case .exact: return nil
    case .absent: return "no content type was declared; the bytes are \(format.mediaType)"
    case .alias, .generic, .mismatch: return "the content type is \(declared ?? "unknown"); the bytes are \(format.mediaType)"
    }
  }
}

extension DecodedImage {
  /// Whether all frames of the file were decoded.
  var isWhole: Bool { !header.isAnimated || animation != nil }
}

extension Failure {
  /// What a coder's error is called in reports.
  init(_ error: ImageError) {
    switch error.kind {
    case .notAnImage: self.init(.notAnImage, message: error.message)
    case .unavailable: self.init(.format, message: error.message)
    case .dimensions, .memory: self.init(.dimensions, message: error.message)
    case .outOfMemory, .unencodable: self.init(.internal, message: error.message)
    case .undecodable, .needsMoreBytes: self.init(.undecodable, message: error.message)
    }
  }
}

// What is known of an image without its whole body: by its first bytes, or by the server's word alone.
extension BodyVerifier {
  /// Whether a body that begins so can still become an image that the rules accept.
  ///
  /// - Parameter knowsCoders: whether nobody but ``coders`` will decode it: then what they cannot decode is refused too.
  func judge(_ prefix: UnsafeRawBufferPointer, _ head: PrefixHead, knowsCoders: Bool) -> PrefixVerdict {
    // Whoever takes a whole body judges it by all of its bytes.
    if head.isComplete { return .accepted }
    // A server may answer with less than was asked for.
    if prefix.count < ImageFormat.prefixLength { return .needsMore(minimum: ImageFormat.prefixLength) }
    do throws(Failure) {
      if let byteCount = head.totalBytes, let failure = rules.failure(byteCount: byteCount) { throw failure }
      guard let format = try recognise(prefix, contentType: head.contentType) else { return .accepted }
      try check(format, contentType: head.contentType)
      guard rules.depth > .none || decodes else { return .accepted }
      return try judge(prefix, of: format, knowsCoders: knowsCoders)
    } catch {
      return .refused(error)
    }
  }

  private func judge(
    _ prefix: UnsafeRawBufferPointer,
    of format: ImageFormat,
    knowsCoders: Bool
  ) throws(Failure) -> PrefixVerdict {
    guard let coder = coders.coder(for: format) else {
      if knowsCoders { throw undecoded(format) }
      return .accepted
    }
    let header: ImageHeader
    do throws(ImageError) {
      header = try coder.header(of: prefix, isComplete: false)
    } catch {
      if case .needsMoreBytes(let minimum) = error.kind { return .needsMore(minimum: minimum) }
      if knowsCoders { throw Failure(error) }
      return .accepted
    }
    if let failure = rules.failure(size: header.size) { throw failure }
    // What does not move yet may still do, and what says that it will may not.
    if header.frames > 1, let failure = rules.failure(isAnimated: true) { throw failure }
    return .accepted
  }

  /// How many bytes from the start are needed to read the header of an image that is still arriving; nil if these are enough, or more
  /// would not help.
  func missingHeaderBytes(_ prefix: UnsafeRawBufferPointer) -> Int? {
    guard rules.depth > .none, case .image(let format) = ContentSniff(prefix: prefix), let coder = coders.coder(for: format)
    else {
      return nil
    }
    do throws(ImageError) {
      _ = try coder.header(of: prefix, isComplete: false)
      return nil
    } catch {
      guard case .needsMoreBytes(let minimum) = error.kind else { return nil }
      return minimum
    }
  }

  /// Checks what a server says of an image whose bytes nobody asked for.
  func verify(declared contentType: String?, byteCount: Int?) throws(Failure) -> VerifiedImage {
    if byteCount == 0 { throw Failure(.empty, message: "the body is empty") }
    if let byteCount, let failure = rules.failure(byteCount: byteCount) { throw failure }
    guard let format = ImageFormat.allCases.first(where: { ContentTypeMatch(declared: contentType, format: $0).namesFormat })
    else {
      // Every format is as good as another to tell whether the type names none, or something else.
      let match = ContentTypeMatch(declared: contentType, format: .jpeg)
      let said = contentType.map { "the content type is \($0.quotable)" } ?? "no content type was declared"
      if rules.failure(contentType: match, declared: contentType, format: nil) != nil {
        throw Failure(.contentType, message: "\(said), which names no image format that is known here")
      }
      if rules.formats != nil { throw Failure(.unnamedFormat(contentType: contentType)) }
      let warnings = ["\(said), and the bytes were not asked for"]
      return VerifiedImage(contentTypeMatch: match, warnings: warnings)
    }
    try check(format, contentType: contentType)
    let match = ContentTypeMatch(declared: contentType, format: format)
    return VerifiedImage(format: format, contentTypeMatch: match)
  }
}

extension ContentTypeMatch {
  fileprivate var namesFormat: Bool { self == .exact || self == .alias }
}

extension PrefixJudge {
  /// Stops the transfer of what cannot be an image that a context accepts.
  ///
  /// - Parameter coders: who decodes in the end; nil where that is not known yet.
  init(_ rules: VerificationRules, decodes: Bool, coders: ImageCoderRegistry?) {
    let verifier = BodyVerifier(coders: coders ?? .standard, rules: rules, decodes: decodes)
    self.init(name: "verification \(rules) decodes \(decodes) \(coders?.description ?? "-")") { prefix, head in
      verifier.judge(prefix, head, knowsCoders: coders != nil)
    }
  }
}

/// Proves that files are images, by their first bytes and their header, for
/// ``/ImageCaching/ImageCache/importFlat(_:images:storedAt:maximumBytes:onEntry:probe:)``.
///
/// What a job asks beyond that is proven when the job finds the image in its cache.
public struct ImageFileProbe: Sendable {
  private let verifier: BodyVerifier

  /// A probe that knows the formats of `coders`.
  public init(coders: ImageCoderRegistry = .standard) {
    verifier = BodyVerifier(coders: coders, rules: VerificationRules(depth: .header, contentType: .ignore))
  }

  /// What the header of a whole file says; throws where it is no image of a known format.
  public func prove(_ bytes: [UInt8]) throws(Failure) -> NewProof {
    let body = try bytes.withRawBytes { bytes throws(Failure) in
      try verifier.verify(bytes, byteCount: bytes.count, contentType: nil)
    }
    let image = body.verified
    return NewProof(
      depth: image.proof,
      format: image.format,
      width: UInt32(clamping: image.size.width),
      height: UInt32(clamping: image.size.height),
      frames: UInt32(clamping: image.frames)
    )
  }
}
