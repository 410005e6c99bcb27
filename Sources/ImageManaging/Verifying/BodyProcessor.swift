import ImageCaching
import ImageCoding
import ImageDownloading
import Base

/// Processes a body for its context: verifies, decodes and transforms it, and chooses and encodes the bytes to store.
struct BodyProcessor: Sendable {
  let coders: ImageCoderRegistry
  let context: LoadContext
  private let budget: DecodingBudget
  private let isStopped: @Sendable () -> Bool

  init(_ flight: Flight, coders: ImageCoderRegistry, budget: DecodingBudget) {
    context = flight.context
    isStopped = { flight.stop == .now }
    self.coders = flight.context.options.coders ?? coders
    self.budget = budget
  }

  private var verifier: BodyVerifier {
    BodyVerifier(
      coders: coders,
      rules: context.verification,
      decodes: context.decodesOriginals,
      transforms: context.transform != nil,
      options: originalOptions,
      budget: budget
    )
  }

  /// Images made here may have any size.
  private static let rulesForOwnBytes = VerificationRules(depth: .header, maximumPixels: .max)

  private var transform: BoundedTransform {
    BoundedTransform(
      transformer: context.options.transformer,
      limits: DecodingLimits(maximumPixels: context.verification.maximumPixels, budget: budget),
      isStopped: isStopped
    )
  }

  /// The decoding options for an original: no more than its transformed image needs.
  private var originalOptions: DecodingOptions {
    let parts = context.options
    var options = parts.decoding
    // A serializer and the memory layer get the whole original.
    if parts.hooks.cacheSerializer != nil || context.writesMemory && context.layers.writesOriginal.contains(.memory) {
      return options
    }
    if options.thumbnail == nil, let transformer = parts.transformer, transformer.transformsAnimated {
      options.thumbnail = transformer.decodingBox
    }
    if !context.needsPixels, let encoding = parts.encoding, encoding.isStill { options.firstFrameOnly = true }
    return options
  }

  /// Whether this is work for a coding thread: decoding, or the user's code.
  var isHeavy: Bool {
    context.decodesOriginals || context.verification.depth == .full || context.options.hooks.cacheSerializer != nil
  }

  /// Processes a body from a server.
  ///
  /// - Parameter bytes: the body, or its available beginning, with zeros between ``DownloadResponse/pieces``.
  func process(_ bytes: UnsafeRawBufferPointer, of image: Judged, for flight: Flight) throws(ImageFailure) -> ProcessedBody {
    let response = image.response
    if context.download.options.method == .head, bytes.isEmpty, response.isPrefix {
      return (try verifier.verify(declared: response.contentType, byteCount: response.totalBytes), nil)
    }
    if response.undecoded != nil {
      _ = try verifier.recognise(bytes, contentType: response.contentType, undecoded: response.undecoded)
    }
    let body = try verifier.verify(
      bytes,
      byteCount: response.totalBytes,
      contentType: response.contentType,
      hasGaps: !response.pieces.isEmpty
    )
    let known = {
      let head = EntryHead(
        body.verified,
        byteCount: response.bodyBytes,
        checksum: image.checksum ?? Checksum(high: 0, low: 0),
        storedAt: context.now,
        freshness: response.freshness
      )
      return KnownImage(head: head, vary: image.vary)
    }
    guard let serializer = context.options.hooks.cacheSerializer else { return try finish(body, bytes, known) }
    let url = String(decoding: flight.entry.writtenURL, as: UTF8.self)
    var stored = ImageProduct.Stored.asItCame
    if let own = serializer(url, body.decoded, Array(bytes)) {
      let isUnchanged = own.withRawBytes { own in own.count == bytes.count && own.elementsEqual(bytes) }
      if !isUnchanged { stored = .instead(try serialized(own)) }
    } else {
      stored = .nothing
    }
    return try finish(body, bytes, known, stored: stored) { image throws(ImageFailure) in
      guard context.layers.writes.contains(.disk), let own = serializer(url, image, nil) else { return nil }
      return try serialized(own)
    }
  }

  /// Processes a cached body, whose declared type was judged by its record.
  func process(cached bytes: UnsafeRawBufferPointer, _ copy: CachedCopy) throws(ImageFailure) -> ProcessedBody {
    if copy.isTransformed {
      // The rules apply to the original.
      let plain = BodyVerifier(coders: coders, rules: Self.rulesForOwnBytes, decodes: context.needsPixels, budget: budget)
      let body = try plain.prove(bytes, contentTypeMatch: .exact)
      var known = known(of: copy, body, byteCount: bytes.count)
      known.isJudged = true
      return (body.verified, ImageProduct(image: body.decoded, data: context.needsData ? Array(bytes) : nil, known: known))
    }
    let body = try verifier.prove(bytes, contentTypeMatch: copy.head?.contentTypeMatch ?? .exact)
    return try finish(body, bytes, { known(of: copy, body, byteCount: bytes.count) })
  }

  /// Processes an original from memory.
  func process(_ original: RememberedImage) throws(ImageFailure) -> ProcessedBody {
    var body: ProvenBody = (VerifiedImage(original.known.head), original.image)
    if original.image.isWhole { body.verified.proof = .full }
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
    return try finish(body, nothing, { original.known })
  }

  private func known(of copy: CachedCopy, _ body: ProvenBody, byteCount: Int) -> KnownImage {
    if let head = copy.head { return KnownImage(head: head, vary: copy.vary) }
    let checksum = Checksum(high: 0, low: 0)
    return KnownImage(head: EntryHead(body.verified, byteCount: byteCount, checksum: checksum, storedAt: context.now))
  }

  /// Transforms the image if requested; `serialize`, if the user has such a hook, creates the bytes to store of the transformed image.
  private func finish(
    _ body: ProvenBody,
    _ bytes: UnsafeRawBufferPointer,
    _ known: () -> KnownImage,
    stored: ImageProduct.Stored = .asItCame,
    serialize: ((DecodedImage) throws(ImageFailure) -> SerializedImage?)? = nil
  ) throws(ImageFailure) -> ProcessedBody {
    var (image, original) = (body.decoded, DecodedImage?.none)
    var transformed: SerializedImage?
    if context.transform != nil, let decoded = body.decoded {
      let isEncoded = serialize == nil
      (image, transformed) = try transform.with(decoded) { new throws(ImageFailure) -> (DecodedImage?, SerializedImage?) in
        (new, isEncoded ? try encoded(new) : nil)
      }
      if let serialize, let image {
        transformed = try serialize(image)
        if transformed == nil, context.deliversTransformed { transformed = try encoded(image) }
      }
      if context.layers.writesOriginal.contains(.memory) { original = decoded }
    }
    if !context.needsPixels { (image, original) = (nil, nil) }
    var data = context.deliversTransformed ? transformed?.bytes : context.needsData ? Array(bytes) : nil
    // As later loads get them from the disk.
    if case .instead(let own) = stored, context.keepsOriginalOnDisk, data != nil, !context.deliversTransformed {
      data = own.bytes
    }
    if image == nil, data == nil, transformed == nil, case .asItCame = stored { return (body.verified, nil) }
    var known = known()
    if context.transform != nil, image != nil || context.deliversTransformed {
      known.shown = transformed.map { known.head.showing($0) } ?? image.map { known.head.showing($0) }
    }
    if !context.storesTransformed { transformed = nil }
    let product = ImageProduct(
      image: image,
      original: original,
      data: data,
      known: known,
      stored: stored,
      transformed: transformed
    )
    return (body.verified, product)
  }

  /// The transformed image encoded for the disk; nil if the context doesn't encode.
  private func encoded(_ image: DecodedImage) throws(ImageFailure) -> SerializedImage? {
    guard let encoding = context.options.encoding, context.encodesTransformed else { return nil }
    let format = encoding.format ?? coders.encodingFormat(for: image, options: encoding.options)
    let isFirstFrame = encoding.options.firstFrameOnly || context.options.decoding.firstFrameOnly
    if image.header.isAnimated, !format.keepsAnimations, !isFirstFrame {
      throw ImageFailure(
        .format,
        message:
          "\(format.name) can't keep the animation's \(image.header.frames) frames; choose webp or avif, or set firstFrameOnly"
      )
    }
    let bytes: [UInt8]
    do throws(ImageError) {
      bytes = try coders.encode(image, as: format, options: encoding.options)
    } catch {
      guard error.kind == .unencodable else { throw ImageFailure(error) }
      let size = DecodingOptions(thumbnail: encoding.options.maximumSize).decodedSize(of: image.pixels.size)
      let isTooLarge = max(size.width, size.height) > format.longestWrittenSide ?? .max
      let message = "the transformed image can't be written as \(format.name): \(error.message)"
      throw ImageFailure(isTooLarge ? .dimensions : .format, message: message)
    }
    return try serialized(bytes)
  }

  private func serialized(_ bytes: [UInt8]) throws(ImageFailure) -> SerializedImage {
    let plain = BodyVerifier(coders: coders, rules: Self.rulesForOwnBytes, decodes: false)
    do throws(ImageFailure) {
      let body = try bytes.withRawBytes { bytes throws(ImageFailure) in try plain.prove(bytes, contentTypeMatch: .exact) }
      return SerializedImage(bytes: bytes, verified: body.verified)
    } catch {
      throw ImageFailure(.internal, message: "the bytes made for the cache aren't a valid image: \(error.message)")
    }
  }
}

/// The result of reading a cached body.
enum CachedProof: Sendable {
  /// It is good; with properties of its bytes if there is no record, and its SHA-256 if that is needed.
  case good(ProcessedBody, Body?, sha256: [UInt8]?)
  /// It breaks the job's rules or can't be decoded.
  case broken(ImageFailure)
  /// No request waits for it any more.
  case abandoned
  /// It is missing, truncated or changed.
  case damaged
  /// It couldn't be read.
  case unreadable

  /// The properties of a body without a record.
  struct Body: Sendable {
    let checksum: Checksum
    let byteCount: Int
  }
}

extension CachedProof {
  /// Reads and processes the body of a cached image; for a coding thread.
  init(of flight: Flight, copy: CachedCopy, by processor: BodyProcessor) {
    do {
      self = try Self.proof(of: flight, copy: copy, by: processor)
    } catch let failure as ImageFailure {
      self = .broken(failure)
    } catch {
      self = .unreadable
    }
  }

  private static func proof(of flight: Flight, copy: CachedCopy, by processor: BodyProcessor) throws -> CachedProof {
    let bytes: [UInt8]
    var facts: Body?
    switch copy.source {
    case .memory(let original): return .good(try processor.process(original), nil, sha256: nil)
    case .entry(let cache, let key, let identity, let head, _):
      guard case .bytes(let body)? = try cache.body(of: key, identity: identity, as: head) else { return .damaged }
      bytes = body
    case .file(let folder):
      let maximum = flight.prepared.options.maxBytes
      guard let file = try folder.file(ofURL: flight.entry.writtenURL, maximumBytes: maximum) else { return .damaged }
      bytes = file.bytes
      facts = Body(checksum: bytes.withRawBytes { checksum(of: $0) }, byteCount: bytes.count)
    }
    let context = processor.context
    let sha256 = flight.entry.needsSHA256 ? bytes.withRawBytes { Base.sha256(of: $0) } : nil
    let isDecoded = copy.isTransformed ? context.needsPixels : context.decodesOriginals
    // A verified image that is in memory or needn't be decoded isn't checked again.
    if let head = copy.head, context.verification.judge(head) == .good, copy.remembered != nil || !isDecoded {
      let product = ImageProduct(
        image: copy.remembered?.image,
        data: context.needsData ? bytes : nil,
        known: KnownImage(head: head, shown: copy.remembered?.shown, isJudged: copy.isTransformed, vary: copy.vary)
      )
      return .good((VerifiedImage(head), product), facts, sha256: sha256)
    }
    let processed = try bytes.withRawBytes { bytes throws(ImageFailure) in try processor.process(cached: bytes, copy) }
    return .good(processed, facts, sha256: sha256)
  }
}

extension VerifiedImage {
  /// The properties in a record.
  init(_ head: EntryHead) {
    self.init(image: head.image, proof: head.proof, contentTypeMatch: head.contentTypeMatch, hasDecoderWarnings: head.hasWarnings)
  }
}
