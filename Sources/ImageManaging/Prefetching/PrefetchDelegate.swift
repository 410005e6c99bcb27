public import ImagePrimitives

/// The requests of one batch, with the bytes of their URLs.
public struct PrefetchBatch {
  /// The URLs, one after another.
  public var bytes: [UInt8] = []
  /// The requests, in the order in which they are to start; their `id` is set by the run.
  public var requests: [LoadRequest] = []
  /// The context of these requests, where it is another than the run's.
  public var context: LoadContext?

  /// An empty batch.
  public init() {}

  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    requests.removeAll(keepingCapacity: true)
    context = nil
  }
}

/// Where a run's requests come from, and where their results go; called on the run's thread alone.
public protocol PrefetchDelegate: AnyObject {
  /// Appends at most `maximum` requests, or few more where those of one entry belong together.
  ///
  /// What it throws ends the reading, not the run: what was read before is finished first.
  func read(_ batch: inout PrefetchBatch, maximum: Int) throws -> PrefetchSourceState
  /// A descriptor that can be read when a blocked source has something again.
  var sourceDescriptor: Int32? { get }
  /// The request at `index` of the batch just read has this result already.
  func decided(_ index: Int, _ result: EntryResult)
  /// The request at `index` of the batch just read is pending, and known as `slot` until it completes.
  func began(_ index: Int, slot: Int)
  /// A pending request has completed.
  func completed(slot: Int, _ completion: LoadCompletion)
  /// Some time has passed, or something has happened: a good moment to show progress.
  func progressed()
}
