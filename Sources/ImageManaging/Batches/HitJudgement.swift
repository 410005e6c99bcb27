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
    if failure(byteCount: Int(clamping: head.bodySize)) != nil { return .broken }
    if let format = head.format {
      if failure(contentType: head.contentTypeMatch, declared: nil, format: format) != nil { return .broken }
      if failure(format: format) != nil { return .broken }
    }
    if depth == .none { return formats == nil || head.format != nil ? .good : .broken }
    guard head.proof > .none else { return .needsProof }
    if failure(size: ImageSize(width: Int(head.width), height: Int(head.height))) != nil { return .broken }
    if failure(isAnimated: head.frames > 1) != nil { return .broken }
    if isStrict, head.hasWarnings { return .broken }
    return head.proof >= depth ? .good : .needsProof
  }

  /// Whether the original of a transformed image was proven as the job asks; its record tells no more of the original than that.
  func acceptsTransformed(_ head: EntryHead) -> Bool {
    head.proof >= depth && !(isStrict && head.hasWarnings)
  }

  /// Judges an image in memory, every pixel of which was decoded, unless it is the first frame of many.
  func judge(_ remembered: RememberedImage) -> HitJudgement {
    if remembered.isJudged { return .good }
    var head = remembered.head
    if remembered.image.isWhole { head.proof = .full }
    return judge(head)
  }
}
