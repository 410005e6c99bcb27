import ImageCoding
import ImagePrimitives

/// Makes of a body what its context asks for: proves it, decodes it, transforms it, and chooses what goes to disk.
struct BodyProcessor: Sendable {
  let coders: ImageCoderRegistry
  let context: LoadContext

  init(_ context: LoadContext, coders: ImageCoderRegistry) {
    self.context = context
    self.coders = context.parts.coders ?? coders
  }

  private var verifier: BodyVerifier {
    BodyVerifier(coders: coders, rules: context.verification, decodes: context.needsPixels)
  }

  /// Whether this is work for a coding thread: decoding, or code of the user's.
  var isHeavy: Bool {
    context.needsPixels || context.verification.depth == .full || context.parts.hooks.cacheSerializer != nil
  }

  /// Processes a body as it came from a server.
  ///
  /// - Parameters:
  ///   - bytes: the body, or as much of its beginning as is at hand.
  ///   - byteCount: how many bytes the whole body has.
  func process(
    _ bytes: UnsafeRawBufferPointer,
    byteCount: Int,
    contentType: String?,
    of flight: Flight
  ) throws(Failure) -> ProcessedImage {
    let body = try verifier.verify(bytes, byteCount: byteCount, contentType: contentType)
    guard let serializer = context.parts.hooks.cacheSerializer else { return try finish(body, bytes) }
    let url = String(decoding: flight.written, as: UTF8.self)
    var stored = ProcessedImage.Stored.asItCame
    if let own = serializer(url, body.decoded, Array(bytes)) {
      let isUnchanged = own.withRawBytes { own in own.count == bytes.count && own.elementsEqual(bytes) }
      if !isUnchanged { stored = .instead(try serialized(own)) }
    } else {
      stored = .nothing
    }
    return try finish(body, bytes, stored: stored) { image throws(Failure) in
      guard let own = serializer(url, image, nil) else { return nil }
      return try serialized(own)
    }
  }

  /// Processes a cached body, whose declared type was judged by its record.
  func process(cached bytes: UnsafeRawBufferPointer, contentTypeMatch: ContentTypeMatch) throws(Failure) -> ProcessedImage {
    try finish(try verifier.prove(bytes, contentTypeMatch: contentTypeMatch), bytes)
  }

  /// Decodes the cached bytes of a transformed image: the rules were for the original.
  func process(transformed bytes: UnsafeRawBufferPointer) throws(Failure) -> ProcessedImage {
    let plain = BodyVerifier(coders: coders, rules: VerificationRules(depth: .header), decodes: context.needsPixels)
    let body = try plain.prove(bytes, contentTypeMatch: .exact)
    let product = ProcessedImage.Product(
      image: body.decoded,
      data: context.needsData ? Array(bytes) : nil,
      contentTypeMatch: body.verified.contentTypeMatch
    )
    return ProcessedImage(verified: body.verified, product: product)
  }

  /// Transforms the image, where there is something to transform; `serialize` makes the bytes that are kept of the new one.
  private func finish(
    _ body: ProvenBody,
    _ bytes: UnsafeRawBufferPointer,
    stored: ProcessedImage.Stored = .asItCame,
    serialize: (DecodedImage) throws(Failure) -> SerializedImage? = { _ in nil }
  ) throws(Failure) -> ProcessedImage {
    var (image, original) = (body.decoded, DecodedImage?.none)
    var transformed: SerializedImage?
    if let transformer = context.parts.transformer, let decoded = body.decoded {
      let new = try transformer.applied(to: decoded)
      transformed = try serialize(new)
      image = new
      if context.layers.writesOriginal.contains(.memory) { original = decoded }
    }
    let data = context.needsData ? Array(bytes) : nil
    if image == nil, data == nil, case .asItCame = stored { return ProcessedImage(verified: body.verified) }
    let product = ProcessedImage.Product(
      image: image,
      original: original,
      data: data,
      contentTypeMatch: body.verified.contentTypeMatch,
      stored: stored,
      transformed: transformed
    )
    return ProcessedImage(verified: body.verified, product: product)
  }

  private func serialized(_ bytes: [UInt8]) throws(Failure) -> SerializedImage {
    let plain = BodyVerifier(coders: coders, rules: VerificationRules(depth: .header), decodes: false)
    do throws(Failure) {
      let body = try bytes.withRawBytes { bytes throws(Failure) in try plain.prove(bytes, contentTypeMatch: .exact) }
      return SerializedImage(bytes: bytes, verified: body.verified)
    } catch {
      throw Failure(.internal, message: "the bytes that the cache serializer made are no image to keep: \(error.message)")
    }
  }
}
