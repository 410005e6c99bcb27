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
    let verified = try verifier.verify(bytes, byteCount: byteCount, contentType: contentType)
    var processed = try finish(verified, bytes, of: flight)
    guard let serializer = context.parts.hooks.cacheSerializer else { return processed }
    let url = String(decoding: flight.written, as: UTF8.self)
    if let own = serializer(url, verified.decoded, Array(bytes)) {
      let isUnchanged = own.withRawBytes { own in own.count == bytes.count && own.elementsEqual(bytes) }
      if !isUnchanged { processed.stored = .instead(try serialized(own)) }
    } else {
      processed.stored = .nothing
    }
    if context.parts.transformer != nil, let image = processed.image, let own = serializer(url, image, nil) {
      processed.transformed = try serialized(own)
    }
    return processed
  }

  /// Processes a cached body, whose declared type was judged by its record.
  func process(
    cached bytes: UnsafeRawBufferPointer,
    contentTypeMatch: ContentTypeMatch,
    of flight: Flight
  ) throws(Failure) -> ProcessedImage {
    try finish(try verifier.prove(bytes, contentTypeMatch: contentTypeMatch), bytes, of: flight)
  }

  /// Decodes the cached bytes of a transformed image: the rules were for the original.
  func process(transformed bytes: UnsafeRawBufferPointer) throws(Failure) -> ProcessedImage {
    let plain = BodyVerifier(coders: coders, rules: VerificationRules(depth: .header), decodes: context.needsPixels)
    let verified = try plain.prove(bytes, contentTypeMatch: .exact)
    return ProcessedImage(verified: verified, image: verified.decoded, data: context.needsData ? Array(bytes) : nil)
  }

  private func finish(
    _ verified: VerifiedImage,
    _ bytes: UnsafeRawBufferPointer,
    of flight: Flight
  ) throws(Failure) -> ProcessedImage {
    var processed = ProcessedImage(verified: verified, image: verified.decoded)
    processed.verified.decoded = nil
    if context.needsData { processed.data = Array(bytes) }
    guard let transformer = context.parts.transformer, let decoded = verified.decoded else { return processed }
    do {
      processed.image = try transformer.apply(to: decoded)
    } catch {
      throw Failure(.internal, message: "the transformer \(transformer.key) failed: \(error)")
    }
    if context.layers.writesOriginal.contains(.memory) { processed.original = decoded }
    return processed
  }

  private func serialized(_ bytes: [UInt8]) throws(Failure) -> SerializedImage {
    let plain = BodyVerifier(coders: coders, rules: VerificationRules(depth: .header), decodes: false)
    do throws(Failure) {
      let verified = try bytes.withRawBytes { bytes throws(Failure) in try plain.prove(bytes, contentTypeMatch: .exact) }
      return SerializedImage(bytes: bytes, verified: verified)
    } catch {
      throw Failure(.internal, message: "the bytes that the cache serializer made are no image to keep: \(error.message)")
    }
  }
}
