import ImageCaching
import ImagePrimitives

/// What a context comes to for look-ups: asked for once a batch, since every request needs it.
struct LookUpRules {
  let verification: VerificationRules
  /// Whether the memory layer may decide a request.
  let looksInMemory: Bool
  /// Whether a transformed image may be found on disk.
  let looksForTransformed: Bool
  /// Whether an original may be a hit: not with ``CacheMode/only`` where the transformed image is wanted on disk alone, and so is not made.
  let usesOriginal: Bool
  /// Whether originals are looked for on disk.
  let readsOriginals: Bool
  /// Whether an original's good record is enough, and its body need not be read.
  let isRecordEnough: Bool
  /// Whether images that stand for many URLs are refused.
  let refusesPlaceholders: Bool
  /// Whether what is found may depend on what was looked up before: what memory keeps, and which images stand for many URLs.
  var dependsOnOrder: Bool { looksInMemory || refusesPlaceholders }
  let refreshes: Bool
  /// Whether an own copy that is to be revalidated comes before other copies, and is served if nothing may be requested: it may be
  /// fresh, or its server says for how long it is. One that has only reached the cache's maximum age is as good as none.
  let prefersOwnCopy: Bool
  let isDryRun: Bool
  let writesDisk: Bool

  init(_ context: LoadContext) {
    let (mode, layers) = (context.mode, context.layers)
    let reads = mode.reads
    let readsMemory =
      layers.reads.contains(.memory) || context.transform != nil && layers.readsOriginal.contains(.memory)
    let originalLayers = context.transform == nil ? layers.reads : layers.readsOriginal
    verification = context.verification
    looksInMemory = context.keepsInMemory && reads && !mode.refreshes && readsMemory
    looksForTransformed = reads && context.keepsTransformed && layers.reads.contains(.disk) && !mode.refreshes
    usesOriginal = mode != .only || !context.keepsTransformed || context.needsPixels || context.needsData
    readsOriginals = reads && originalLayers.contains(.disk)
    isRecordEnough = !context.decodesOriginals && !context.needsData && !context.options.verifiesHits
    refusesPlaceholders = context.placeholders != nil
    refreshes = mode.refreshes
    prefersOwnCopy = mode.refreshes || context.followsHTTPFreshness
    isDryRun = mode.isDryRun
    writesDisk = mode.writesDisk
  }
}

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
