package import ImageCaching
import ImageCoding
import ImageDownloading
package import Base

/// A verified body, with its pixels if they are kept.
typealias ProvenBody = (verified: VerifiedImage, decoded: DecodedImage?)

/// Verifies a body by a job's rules, or throws the reason for its rejection.
struct BodyVerifier: Sendable {
  let coders: ImageCoderRegistry
  let rules: VerificationRules
  /// Whether the pixels are kept, so that every image is decoded.
  var decodes = false
  /// Whether the pixels are for a transform, which failures then name.
  var transforms = false
  var options = DecodingOptions()
  /// Memory that all decoding shares.
  var budget: DecodingBudget?

  /// Verifies a body from a server.
  ///
  /// - Parameters:
  ///   - bytes: the body, or its available beginning.
  ///   - byteCount: the length of the whole body; nil if unknown.
  ///   - contentType: the declared type.
  ///   - hasGaps: whether bytes before the end of the available ones are missing, and are zero.
  func verify(
    _ bytes: UnsafeRawBufferPointer,
    byteCount: Int?,
    contentType: String?,
    hasGaps: Bool = false
  ) throws(ImageFailure) -> ProvenBody {
    if byteCount == 0 { throw ImageFailure(.empty, message: "the body is empty") }
    let format = try recognise(bytes, contentType: contentType)
    let match = format.map { ContentTypeMatch(declared: contentType, format: $0) } ?? .generic
    var verified = VerifiedImage(image: ImageProperties(format: format), contentTypeMatch: match)
    if let format {
      try check(format, contentType: contentType)
    } else if rules.formats != nil || decodes {
      throw .unrecognised
    }
    if let byteCount, let failure = rules.failure(byteCount: byteCount) { throw failure }
    if let warning = Self.warning(match, declared: contentType, format: format) { verified.warnings.append(warning) }
    // The body of a response with Content-Encoding has been decoded.
    if format == .svg, ByteView(bytes).bigEndian16(at: 0) == 0x1F8B {
      verified.warnings.append("the SVG is compressed without Content-Encoding: gzip, so browsers don't show it")
    }
    guard rules.depth > .none || decodes, let format else { return (verified, nil) }
    let isComplete = bytes.count == byteCount && !hasGaps
    let decoded = try prove(bytes, byteCount: byteCount, isComplete: isComplete, format: format, into: &verified)
    return (verified, decoded)
  }

  /// Verifies a body from the cache, whose declared type was judged by its record.
  func prove(_ bytes: UnsafeRawBufferPointer, contentTypeMatch: ContentTypeMatch) throws(ImageFailure) -> ProvenBody {
    guard let format = try recognise(bytes, contentType: nil) else { throw .unrecognised }
    var verified = VerifiedImage(image: ImageProperties(format: format), contentTypeMatch: contentTypeMatch)
    if let failure = rules.failure(format: format) { throw failure }
    let decoded = try prove(bytes, byteCount: bytes.count, isComplete: true, format: format, into: &verified)
    return (verified, decoded)
  }

  /// Checks a format against the rules, and the declared type against the format.
  func check(_ format: ImageFormat, contentType: String?) throws(ImageFailure) {
    let match = ContentTypeMatch(declared: contentType, format: format)
    if let failure = rules.failure(contentType: match, declared: contentType, format: format) { throw failure }
    if let failure = rules.failure(format: format) { throw failure }
  }

  /// Why an image of a format without coder is rejected.
  func undecoded(_ format: ImageFormat) -> ImageFailure {
    let reason = FailureReason.undecoded(format)
    if !decodes { return ImageFailure(reason) }
    return ImageFailure(.format, message: "\(reason.finding), but its pixels are needed")
  }

  func recognise(
    _ bytes: UnsafeRawBufferPointer,
    contentType: String?,
    undecoded: String? = nil
  ) throws(ImageFailure) -> ImageFormat? {
    let finding: String
    switch ContentSniff(prefix: bytes) {
    case .image(let format): return format
    case .empty: throw ImageFailure(.empty, message: "the body is empty")
    case .html: finding = "the body is HTML"
    case .xml: finding = "the body is XML"
    case .json: finding = "the body is JSON"
    case .text:
      if let undecoded { throw .undecoded(undecoded) }
      finding = "the body is text"
    case .unknown:
      if let undecoded { throw .undecoded(undecoded) }
      if rules.depth == .none { return nil }
      finding = "the first bytes match no known image format"
    }
    if let image = LateImage(in: bytes) {
      let count = image.offset == 1 ? "1 other byte" : "\(image.offset) other bytes"
      throw ImageFailure(
        .notAnImage,
        message: "an image (\(image.format.name)) begins after \(count) (\(image.before)), so browsers don't show it"
      )
    }
    throw ImageFailure(.notAnImage, message: finding + (contentType.map { ", served as \($0)" } ?? ""))
  }

  /// Verifies as deeply as the rules require; returns the pixels if they are kept.
  private func prove(
    _ bytes: UnsafeRawBufferPointer,
    byteCount: Int?,
    isComplete: Bool,
    format: ImageFormat,
    into verified: inout VerifiedImage
  ) throws(ImageFailure) -> DecodedImage? {
    guard let coder = coders.coder(for: format) else { throw undecoded(format) }
    do {
      let header = try header(of: bytes, byteCount: byteCount, isComplete: isComplete, by: coder)
      if !isComplete, let byteCount, let stated = (coder as? any LengthStatingCoder)?.statedBytes(bytes), stated > byteCount {
        let finding = "it has \(byteCount) bytes, but its header states at least \(stated)"
        throw ImageFailure(.undecodable, message: "the file is truncated: \(finding)")
      }
      verified.image = header.properties
      verified.proof = .header
      try take(header.warnings, into: &verified)
      if let failure = rules.failure(size: header.size, format: format) { throw failure }
      if let failure = rules.failure(isAnimated: header.isAnimated) { throw failure }
      let limits = DecodingLimits(maximumPixels: rules.maximumPixels, budget: budget)
      let decoded = decodes ? try coder.decode(bytes, options: options, limits: limits) : nil
      if let decoded { try take(decoded.warnings, into: &verified) }
      if decoded?.isWhole == true {
        verified.proof = .full
      } else if rules.depth == .full {
        try take(try coder.proveDecodable(bytes, limits: limits).warnings, into: &verified)
        verified.proof = .full
      }
      return decoded
    } catch let failure as ImageFailure {
      throw failure
    } catch let error as ImageError {
      let hasNoPixels = error.kind == .unavailable && !coder.decodesPixels
      throw hasNoPixels && transforms ? ImageFailure(.untransformable(format)) : ImageFailure(error)
    } catch {
      throw ImageFailure(.internal, message: "\(error)")
    }
  }

  /// The header. Throws if too few bytes are available for the header of an incomplete image.
  private func header(
    of bytes: UnsafeRawBufferPointer,
    byteCount: Int?,
    isComplete: Bool,
    by coder: any ImageCoder
  ) throws(ImageFailure) -> ImageHeader {
    do throws(ImageError) {
      return try coder.header(of: bytes, isComplete: isComplete)
    } catch {
      guard !isComplete, case .needsMoreBytes = error.kind else { throw ImageFailure(error) }
      if let byteCount { try Self.checkReach(of: error, byteCount: byteCount) }
      throw ImageFailure(
        .dimensions,
        message: "the header is longer than the first \(bytes.count) bytes, so width and height can't be checked"
      )
    }
  }

  /// Throws if the file ends before its header continues.
  private static func checkReach(of error: ImageError, byteCount: Int) throws(ImageFailure) {
    guard let start = error.neededStart, start > byteCount else { return }
    throw ImageFailure(
      .undecodable,
      message: "the file is truncated: it has \(byteCount) bytes, but its header continues at byte \(start)"
    )
  }

  /// Keeps the decoder's warnings, unless the rules make them a failure.
  private func take(_ warnings: [String], into verified: inout VerifiedImage) throws(ImageFailure) {
    if let failure = rules.failure(decoderWarnings: warnings) { throw failure }
    for warning in warnings where !verified.warnings.contains(warning) { verified.warnings.append(warning) }
    if !warnings.isEmpty { verified.hasDecoderWarnings = true }
  }

  private static func warning(_ match: ContentTypeMatch, declared: String?, format: ImageFormat?) -> String? {
    guard let format else { return nil }
    switch match {
    case .exact: return nil
    case .absent: return "the server sent no content type; the bytes are \(format.mediaType)"
    case .alias, .generic, .mismatch: return "the content type is \(declared ?? "unknown"); the bytes are \(format.mediaType)"
    }
  }
}

extension DecodedImage {
  /// Whether all frames or pages of the file were decoded and are here.
  var isWhole: Bool { header.frames == 1 || animation != nil }
}

extension ImageFailure {
  fileprivate static let unrecognised = ImageFailure(.notAnImage, message: "the first bytes match no known image format")

  /// A body that isn't an image as it is, and can't be decoded.
  fileprivate static func undecoded(_ coding: String) -> ImageFailure {
    let library = ["br": "libbrotli1", "zstd": "libzstd1"][coding]
    return ImageFailure(
      .contentType,
      message: "the body isn't an image, but has the unrequested Content-Encoding \(coding.quotable), which can't be decoded"
        + (library.map { "; install \($0)" } ?? "")
    )
  }

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

// Judging an image without its whole body: by its first bytes, or by the server's headers only.
extension BodyVerifier {
  /// Whether a body with that beginning can still become an image that the rules accept.
  ///
  /// - Parameter knowsCoders: whether only ``coders`` will decode it: then images that they can't decode are rejected too.
  func judge(_ prefix: UnsafeRawBufferPointer, _ head: PrefixHead, knowsCoders: Bool) -> PrefixVerdict {
    // A whole body is judged later by all of its bytes.
    if head.isComplete { return .accepted }
    // A server may respond with less than requested.
    if prefix.count < ImageFormat.prefixLength { return .needsMore(minimum: ImageFormat.prefixLength) }
    do throws(ImageFailure) {
      if let byteCount = head.totalBytes, let failure = rules.failure(byteCount: byteCount) { throw failure }
      if let minimum = ContentSniff.bytesNeeded(after: prefix) { return .needsMore(minimum: minimum) }
      guard let format = try recognise(prefix, contentType: head.contentType, undecoded: head.undecoded) else { return .accepted }
      try check(format, contentType: head.contentType)
      guard rules.depth > .none || decodes else { return .accepted }
      return try judge(prefix, head, of: format, reportsErrors: knowsCoders || head.hasGaps)
    } catch {
      // With zeros in it, an image only seems broken.
      if head.hasGaps, error.kind == .undecodable { return .needsMore(minimum: head.totalBytes ?? .max) }
      return .refused(error)
    }
  }

  private func judge(
    _ prefix: UnsafeRawBufferPointer,
    _ head: PrefixHead,
    of format: ImageFormat,
    reportsErrors: Bool
  ) throws(ImageFailure) -> PrefixVerdict {
    guard let coder = coders.coder(for: format) else {
      if reportsErrors { throw undecoded(format) }
      return .accepted
    }
    let header: ImageHeader
    do throws(ImageError) {
      header = try coder.header(of: prefix, isComplete: false)
    } catch {
      if case .needsMoreBytes(let minimum) = error.kind {
        if let byteCount = head.totalBytes { try Self.checkReach(of: error, byteCount: byteCount) }
        return .needsMore(minimum: minimum, from: error.neededStart)
      }
      if reportsErrors { throw ImageFailure(error) }
      return .accepted
    }
    if let failure = rules.failure(size: header.size, format: format) { throw failure }
    // An image without further frames so far may still be animated, and one that declares an animation may have one frame.
    if header.frames > 1, header.isAnimated, let failure = rules.failure(isAnimated: true) { throw failure }
    return .accepted
  }

  /// How many bytes from the start are needed to read the header of an arriving image, and the offset before which no further ones are;
  /// nil if these suffice, or more wouldn't help.
  func missingHeaderBytes(_ prefix: UnsafeRawBufferPointer) -> (minimum: Int, start: Int?)? {
    guard rules.depth > .none else { return nil }
    if let minimum = ContentSniff.bytesNeeded(after: prefix) { return (minimum, nil) }
    guard case .image(let format) = ContentSniff(prefix: prefix), let coder = coders.coder(for: format) else { return nil }
    do throws(ImageError) {
      _ = try coder.header(of: prefix, isComplete: false)
      return nil
    } catch {
      guard case .needsMoreBytes(let minimum) = error.kind else { return nil }
      return (minimum, error.neededStart)
    }
  }

  /// Checks the headers for an image whose body wasn't requested.
  func verify(declared contentType: String?, byteCount: Int?) throws(ImageFailure) -> VerifiedImage {
    if byteCount == 0 { throw ImageFailure(.empty, message: "the body is empty") }
    if let byteCount, let failure = rules.failure(byteCount: byteCount) { throw failure }
    guard let format = ImageFormat(mediaType: contentType) else {
      // Any format serves to find out whether the type is generic or another one.
      let match = ContentTypeMatch(declared: contentType, format: .jpeg)
      let finding = contentType.map { "the content type is \($0.quotable)" } ?? "the server sent no content type"
      if rules.failure(contentType: match, declared: contentType, format: nil) != nil {
        throw ImageFailure(.contentType, message: "\(finding), which isn't a known image format")
      }
      if rules.formats != nil { throw ImageFailure(.unnamedFormat(contentType: contentType)) }
      let warnings = ["\(finding), and the bytes weren't requested"]
      return VerifiedImage(image: ImageProperties(), contentTypeMatch: match, warnings: warnings)
    }
    try check(format, contentType: contentType)
    let match = ContentTypeMatch(declared: contentType, format: format)
    return VerifiedImage(image: ImageProperties(format: format), contentTypeMatch: match)
  }
}

extension PrefixJudge {
  /// Creates a judge that stops the transfer of bodies that can't be an image accepted by a context.
  ///
  /// - Parameter coders: the coders that will decode; nil if not known yet.
  init(_ rules: VerificationRules, decodes: Bool, coders: ImageCoderRegistry?) {
    let verifier = BodyVerifier(coders: coders ?? .standard, rules: rules, decodes: decodes)
    self.init(name: "verification \(rules) decodes \(decodes) \(coders?.description ?? "-")") { prefix, head in
      verifier.judge(prefix, head, knowsCoders: coders != nil)
    }
  }
}

extension NewProof {
  /// The properties in the header of a whole file, for
  /// ``/ImageCaching/ImageCache/importFlat(_:images:storedAt:maximumBytes:onEntry:probe:)``; throws if it isn't an image of a known
  /// format. Further rules of a job are checked when the job finds the image in its cache.
  package init(ofFile bytes: [UInt8]) throws(ImageFailure) {
    let verifier = BodyVerifier(coders: .standard, rules: VerificationRules(depth: .header, contentType: .ignore))
    let body = try bytes.withRawBytes { bytes throws(ImageFailure) in
      try verifier.verify(bytes, byteCount: bytes.count, contentType: nil)
    }
    self.init(depth: body.verified.proof, image: body.verified.image)
  }
}
