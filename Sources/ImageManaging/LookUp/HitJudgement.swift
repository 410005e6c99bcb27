import ImageCaching
import ImagePrimitives

/// What a cached image's record says under the rules of a job.
enum HitJudgement {
  /// Good as far as the job asks.
  case good
  /// Nothing speaks against it, but its bytes were proven less deeply than the job asks.
  case needsProof
  /// It breaks the job's rules.
  case broken
}

extension VerificationRules {
  /// Judges a record without reading its body.
  func judge(_ head: EntryHead) -> HitJudgement {
    judge(
      format: head.format,
      contentType: head.contentTypeMatch,
      size: ImageSize(width: Int(head.width), height: Int(head.height)),
      byteCount: Int(clamping: head.bodySize),
      proof: head.proof
    )
  }

  /// Judges an image in memory, every pixel of which was decoded.
  func judge(_ remembered: RememberedImage) -> HitJudgement {
    judge(
      format: remembered.result.format,
      contentType: remembered.contentTypeMatch,
      size: ImageSize(width: Int(remembered.result.width), height: Int(remembered.result.height)),
      byteCount: Int(clamping: remembered.result.bytes),
      proof: .full
    )
  }

  private func judge(
    format: ImageFormat?,
    contentType: ContentTypeMatch,
    size: ImageSize,
    byteCount: Int,
    proof: ProofDepth
  ) -> HitJudgement {
    if failure(byteCount: byteCount) != nil { return .broken }
    if let format {
      if failure(contentType: contentType, declared: nil, format: format) != nil { return .broken }
      if failure(format: format) != nil { return .broken }
    }
    if depth == .none { return formats == nil || format != nil ? .good : .broken }
    guard proof > .none else { return .needsProof }
    if failure(size: size) != nil { return .broken }
    return proof >= depth ? .good : .needsProof
  }
}
