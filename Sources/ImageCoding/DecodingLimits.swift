import Platform
package import Base

/// The resources that a decoder may use for one file, checked against the header before pixels are allocated.
public struct DecodingLimits: Sendable, Hashable {
  /// The maximum of width × height; 100,000,000 by default.
  public var maximumPixels: Int
  /// The maximum number of scans of a JPEG; 500 by default, which is TurboJPEG's limit (`TJFLAG_LIMITSCANS`). Large images are
  /// allowed fewer: all scans together may cover 32 times ``maximumPixels``.
  ///
  /// A scan of a progressive JPEG covers the whole image and may be a few bytes long, so a small file could keep a decoder busy for
  /// minutes. Encoders write about 10.
  public var maximumScans: Int
  /// The maximum number of frames of an animation; 5,000 by default.
  public var maximumFrames: Int
  /// The maximum number of chunks, blocks and segments of a file, except those with picture data; 10,000 by default.
  public var maximumChunks: Int
  /// The maximum memory for decoding one file in bytes, including pixels; nil, the default: 16 per pixel of ``maximumPixels``, plus
  /// 64 MiB for rows and tables.
  public var maximumBytes: Int?
  /// The maximum processor time for one file; 60 s by default. It is checked between rows and frames, so the last one may exceed
  /// it.
  public var maximumTime: Duration
  /// The memory shared with other decoders; nil, the default: each file may use ``maximumBytes``.
  public var budget: DecodingBudget?

  public init(
    maximumPixels: Int = 100_000_000,
    maximumScans: Int = 500,
    maximumFrames: Int = 5_000,
    maximumChunks: Int = 10_000,
    maximumBytes: Int? = nil,
    maximumTime: Duration = .seconds(60),
    budget: DecodingBudget? = nil
  ) {
    self.maximumPixels = maximumPixels
    self.maximumScans = maximumScans
    self.maximumFrames = maximumFrames
    self.maximumChunks = maximumChunks
    self.maximumBytes = maximumBytes
    self.maximumTime = maximumTime
    self.budget = budget
  }
}

extension DecodingLimits {
  /// The limit whatever is allowed: byte counts of more pixels might overflow.
  private static let mostPixels = 1 << 40

  /// Throws if the image has more pixels than allowed.
  package func check(_ size: ImageSize) throws(ImageError) {
    let maximumPixels = min(maximumPixels, Self.mostPixels)
    guard size.pixels > maximumPixels else { return }
    throw ImageError(
      .dimensions(maximumPixels: maximumPixels),
      "the image is \(size.width) x \(size.height) pixels, more than the allowed total of \(maximumPixels)"
    )
  }

  /// Throws if the animation has more frames than allowed.
  package func check(frames: Int) throws(ImageError) {
    guard frames > maximumFrames else { return }
    throw .undecodable("the animation has at least \(frames) frames, but \(maximumFrames) are allowed")
  }

  /// Calls `body`, which allocates up to `bytes`, once the shared budget allows it; throws if one file may not use that much.
  package func spending<Result>(_ bytes: Int, _ body: () throws(ImageError) -> Result) throws(ImageError) -> Result {
    try check(bytes: bytes)
    guard let budget else { return try body() }
    return try budget.spending(bytes, body)
  }

  /// Throws if one file may not use that much memory. It takes no share of the budget, which a decoder that waits for bytes would keep.
  func check(bytes: Int) throws(ImageError) {
    let allowed = allowedBytes
    guard bytes > allowed else { return }
    let sentence = "decoding the image needs \(bytes) bytes of memory, but \(allowed) are allowed"
    throw ImageError(.memory(maximumBytes: allowed), sentence)
  }

  /// The memory allowed for one file, in bytes.
  package var allowedBytes: Int {
    if let maximumBytes { return maximumBytes }
    return maximumPixels.saturated(times: 16) + 64 << 20
  }

  func scans(for size: ImageSize) -> Int {
    min(maximumScans, maximumPixels.saturated(times: 32) / size.pixels)
  }
}

extension Int {
  /// The product of two numbers that aren't negative, at most an eighth of the largest number, so that a sum of several doesn't overflow.
  func saturated(times other: Int) -> Int {
    let (product, overflow) = multipliedReportingOverflow(by: other)
    return overflow ? .max / 8 : Swift.min(product, .max / 8)
  }
}

/// The deadline for decoding a file, measured in processor time of the calling thread, so that a busy machine doesn't shorten it.
package struct DecodingDeadline {
  /// The value of the thread's clock at the deadline, in nanoseconds; 0: none.
  package let nanoseconds: UInt64
  private let allowed: Duration

  /// The deadline of a file whose decoding starts or continues now on this thread, after it has used `spent`.
  package init(_ limits: DecodingLimits, spent: Duration = .zero) {
    allowed = limits.maximumTime
    let (seconds, attoseconds) = max(.zero, allowed - spent).components
    let (nanoseconds, overflow) = UInt64(clamping: seconds).multipliedReportingOverflow(by: 1_000_000_000)
    let (end, further) = Self.now.addingReportingOverflow(nanoseconds &+ UInt64(clamping: attoseconds / 1_000_000_000))
    self.nanoseconds = overflow || further ? 0 : end
  }

  /// Throws after the deadline.
  package func check() throws(ImageError) {
    guard nanoseconds > 0, Self.now >= nanoseconds else { return }
    throw .undecodable("decoding it exceeded the limit of \(allowed) of processor time")
  }

  /// The time until the deadline; zero after it.
  package var remaining: Duration {
    let now = Self.now
    return nanoseconds == 0 ? allowed : nanoseconds > now ? .nanoseconds(Int64(clamping: nanoseconds - now)) : .zero
  }

  fileprivate static var now: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

/// The processor time used for a file, over calls that may come from different threads.
struct SpentTime {
  private let limits: DecodingLimits
  private var spent = Duration.zero

  init(_ limits: DecodingLimits) { self.limits = limits }

  /// Calls `body` with the remaining time as deadline.
  mutating func spend<Result>(_ body: (DecodingDeadline) throws(ImageError) -> Result) throws(ImageError) -> Result {
    let start = DecodingDeadline.now
    defer { spent += .nanoseconds(Int64(DecodingDeadline.now - start)) }
    return try body(DecodingDeadline(limits, spent: spent))
  }
}

/// Memory shared by decoders and transformers: each reserves what its image needs before allocating it, and waits while too much is
/// reserved.
///
/// An image that needs more than the whole budget waits until nothing else is reserved and then uses all of it;
/// ``DecodingLimits/maximumBytes`` limits a single image. A thread that has a reservation, such as that of a transformer that decodes
/// another image, gets further ones at once, or two threads could wait for each other.
public final class DecodingBudget: Sendable {
  /// The total in bytes.
  public let bytes: Int
  private let state = WaitableState(State())
  private let ask: (@Sendable (Int?) -> Void)?

  private struct State {
    var taken = 0
    /// The threads with a reservation.
    var threads: Set<UInt> = []
  }

  /// Creates a budget; traps if `bytes` is less than 1.
  public init(bytes: Int) {
    trap(unless: bytes > 0, "a decoding budget of \(bytes) bytes")
    self.bytes = bytes
    ask = nil
  }

  /// A budget that another process keeps: `ask` waits for bytes, and releases them when called with nil.
  init(asking ask: @escaping @Sendable (Int?) -> Void) { (bytes, self.ask) = (.max, ask) }

  /// The default budget: a quarter of the machine's memory, at least 256 MiB and at most 1 GiB.
  public static let standard: DecodingBudget = {
    let memory = sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE))
    return DecodingBudget(bytes: min(max(memory / 4, 256 << 20), 1 << 30))
  }()

  /// The number of reserved bytes.
  public var takenBytes: Int { state.withLock(waking: .nobody) { $0.taken } }

  /// Calls `body` while `count` bytes are reserved; those of a nested call aren't counted.
  package func spending<Result, Failure: Error>(_ count: Int, _ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    let thread = SystemThread.currentID
    let share = min(count, bytes)
    let isNested = state.wait { state -> Bool? in
      if state.threads.contains(thread) { return true }
      guard share <= bytes - state.taken else { return nil }
      state.taken += share
      state.threads.insert(thread)
      return false
    }
    if isNested { return try body() }
    ask?(count)
    defer {
      ask?(nil)
      state.withLock(waking: .all) { state in
        state.taken -= share
        state.threads.remove(thread)
      }
    }
    return try body()
  }
}

extension DecodingBudget: Hashable {
  public static func == (left: DecodingBudget, right: DecodingBudget) -> Bool { left === right }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
