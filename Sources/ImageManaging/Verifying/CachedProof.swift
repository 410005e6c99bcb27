import ImageCaching
import ImageCoding
import ImageDownloading
import Base

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
