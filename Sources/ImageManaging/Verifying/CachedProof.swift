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
  case unreadable(CacheError)

  /// The properties of a body without a record.
  struct Body: Sendable {
    let checksum: Checksum
    let byteCount: Int
  }
}

extension CachedProof {
  /// Reads and processes the body of a cached image; for a coding thread.
  init(of flight: Flight, copy: CachedCopy, by processor: BodyProcessor) {
    do throws(CacheError) {
      switch copy.source {
      case .entry(let cache, let key, let identity, let head, _):
        switch try cache.body(of: key, identity: identity, as: head) {
        case nil, .damaged: self = .damaged
        case .bytes(let bytes): self.init(bytes, of: flight, facts: nil, copy: copy, processor: processor)
        }
      case .memory(let original):
        self = .init(Result { () throws(ImageFailure) in try processor.process(original) }, body: nil, sha256: nil)
      case .file(let folder):
        let maximum = flight.prepared.options.maxBytes
        guard let body = try folder.file(ofURL: flight.entry.writtenURL, maximumBytes: maximum)?.bytes else {
          self = .damaged
          return
        }
        let facts = Body(checksum: body.withRawBytes { ImageCaching.checksum(of: $0) }, byteCount: body.count)
        self.init(body, of: flight, facts: facts, copy: copy, processor: processor)
      }
    } catch {
      self = .unreadable(error)
    }
  }

  private init(_ bytes: [UInt8], of flight: Flight, facts: Body?, copy: CachedCopy, processor: BodyProcessor) {
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
      self = .good((VerifiedImage(head), product), facts, sha256: sha256)
      return
    }
    self.init(
      Result { () throws(ImageFailure) in
        try bytes.withRawBytes { bytes throws(ImageFailure) in try processor.process(cached: bytes, copy) }
      },
      body: facts,
      sha256: sha256
    )
  }

  private init(_ result: Result<ProcessedBody, ImageFailure>, body: Body?, sha256: [UInt8]?) {
    switch result {
    case .success(let processed): self = .good(processed, body, sha256: sha256)
    case .failure(let failure): self = .broken(failure)
    }
  }
}

extension VerifiedImage {
  /// The properties in a record.
  init(_ head: EntryHead) {
    self.init(image: head.image, proof: head.proof, contentTypeMatch: head.contentTypeMatch, hasDecoderWarnings: head.hasWarnings)
  }
}
