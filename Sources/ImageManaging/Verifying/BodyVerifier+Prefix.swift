import ImageCoding
import ImageDownloading
import ImagePrimitives

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

  /// Checks what a server says of an image whose bytes nobody asked for.
  func verify(declared contentType: String?, byteCount: Int?) throws(Failure) -> ProvenBody {
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
      if rules.formats != nil {
        throw Failure(.format, message: "\(said), which names no format, and verify.formats asks for some")
      }
      let warnings = ["\(said), and the bytes were not asked for"]
      return ProvenBody(verified: VerifiedImage(contentTypeMatch: match, warnings: warnings))
    }
    try check(format, contentType: contentType)
    let match = ContentTypeMatch(declared: contentType, format: format)
    return ProvenBody(verified: VerifiedImage(format: format, contentTypeMatch: match))
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
