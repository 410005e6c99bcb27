import Glibc
package import ImagePrimitives
import Threads

/// What a decoder may spend on one file; checked against the header before anything is allocated for the pixels.
public struct DecodingLimits: Sendable, Hashable {
  /// Width × height at most; 100,000,000 by default.
  public var maximumPixels: Int
  /// Scans of a JPEG at most; 500 by default, which is TurboJPEG's own limit (`TJFLAG_LIMITSCANS`). A large image is allowed fewer: all its scans together may
  /// pass over 32 times ``maximumPixels``.
  ///
  /// A scan of a progressive JPEG passes over the whole image and may be a few bytes short, so a small file could keep a decoder busy for
  /// minutes. Encoders write about 10.
  public var maximumScans: Int
  /// Frames of an animation at most; 5,000 by default.
  public var maximumFrames: Int
  /// Chunks, blocks and segments of a file at most, those of its picture's data not counted; 10,000 by default.
  public var maximumChunks: Int
  /// Bytes that decoding one file may hold at once, its pixels included; nil, the default: 16 a pixel of ``maximumPixels``, and 64 MiB for rows and tables.
  public var maximumBytes: Int?
  /// Processor time for one file; 60 s by default. It is looked at between rows and frames, so that the last of them may go beyond.
  public var maximumTime: Duration
  /// Memory shared with others who decode at the same time; nil, the default: what ``maximumBytes`` allows is there.
  public var budget: DecodingBudget?

  /// Limits; each has its default.
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
  /// Refuses an image of more pixels than are allowed.
  package func check(_ size: ImageSize) throws(ImageError) {
    guard size.pixels > maximumPixels else { return }
    throw ImageError(
      .dimensions(maximumPixels: maximumPixels),
      "the image is \(size.width) x \(size.height) pixels, and \(maximumPixels) pixels in all are allowed"
    )
  }

  /// Refuses an animation of more frames than are allowed.
  package func check(frames: Int) throws(ImageError) {
    guard frames > maximumFrames else { return }
    throw .undecodable("the animation has \(frames) frames or more, and \(maximumFrames) are allowed")
  }

  /// Calls `body`, which allocates up to `bytes`, when the shared budget has them; refuses more than one file may need.
  package func spending<Result>(_ bytes: Int, _ body: () throws(ImageError) -> Result) throws(ImageError) -> Result {
    let allowed = allowedBytes
    guard bytes <= allowed else {
      throw ImageError(
        .memory(maximumBytes: allowed),
        "decoding the image needs \(bytes) bytes of memory, and \(allowed) are allowed"
      )
    }
    guard let budget else { return try body() }
    return try budget.spending(bytes, body)
  }

  /// Bytes for one file.
  package var allowedBytes: Int {
    if let maximumBytes { return maximumBytes }
    let (bytes, overflow) = maximumPixels.multipliedReportingOverflow(by: 16)
    return overflow ? .max : min(bytes, .max - 64 << 20) + 64 << 20
  }

  func scans(for size: ImageSize) -> Int {
    let (allPixels, overflow) = maximumPixels.multipliedReportingOverflow(by: 32)
    return overflow ? maximumScans : min(maximumScans, allPixels / size.pixels)
  }
}

/// When a decoder has spent the time of its file: by the processor's clock of the calling thread, which a busy machine does not hurry.
package struct DecodingDeadline {
  /// The thread's clock then, in nanoseconds; 0: never.
  package let nanoseconds: UInt64
  private let allowed: Duration

  /// The deadline of a file whose decoding begins or goes on now, on this thread, after so much of its time was spent.
  package init(_ limits: DecodingLimits, spent: Duration = .zero) {
    allowed = limits.maximumTime
    let (seconds, attoseconds) = max(.zero, allowed - spent).components
    let (nanoseconds, overflow) = UInt64(clamping: seconds).multipliedReportingOverflow(by: 1_000_000_000)
    let (end, further) = Self.now.addingReportingOverflow(nanoseconds &+ UInt64(clamping: attoseconds / 1_000_000_000))
    self.nanoseconds = overflow || further ? 0 : end
  }

  /// Throws once it is over.
  package func check() throws(ImageError) {
    guard nanoseconds > 0, Self.now >= nanoseconds else { return }
    throw .undecodable("decoding it took more than \(allowed) of processor time, which is what one file may take")
  }

  fileprivate static var now: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

extension DecodingLimits {
  /// Refuses more memory than one file may need, without a share of what others have too: a decoder that waits for bytes would
  /// keep it.
  func check(bytes: Int) throws(ImageError) {
    var limits = self
    limits.budget = nil
    try limits.spending(bytes) {}
  }
}

/// The processor time that a file has taken, over calls that may come on different threads.
struct SpentTime {
  private let limits: DecodingLimits
  private var spent = Duration.zero

  init(_ limits: DecodingLimits) { self.limits = limits }

  /// Calls `body` with the deadline that is left.
  mutating func spend<Result>(_ body: (DecodingDeadline) throws(ImageError) -> Result) throws(ImageError) -> Result {
    let start = DecodingDeadline.now
    defer { spent += .nanoseconds(Int64(DecodingDeadline.now - start)) }
    return try body(DecodingDeadline(limits, spent: spent))
  }
}

/// Memory that decoders and transforms share: each takes what its image needs before it allocates, and waits while others have too much of it.
///
/// An image that needs more than the whole budget waits until nobody else has any, and then has it to itself; what one image may need at most is
/// for ``DecodingLimits/maximumBytes`` to say. Nobody may take twice at once, or two could wait for each other.
public final class DecodingBudget: Sendable {
  /// Bytes for all at once.
  public let bytes: Int
  private let taken = WaitableState(0)

  /// A budget of so many bytes; fewer than 1 is a programmer's error and traps.
  public init(bytes: Int) {
    trap(unless: bytes > 0, "a decoding budget of \(bytes) bytes")
    self.bytes = bytes
  }

  /// The budget of who names none: a quarter of the machine's memory, at least 256 MiB and at most 1 GiB.
  public static let standard: DecodingBudget = {
    let memory = sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE))
    return DecodingBudget(bytes: min(max(memory / 4, 256 << 20), 1 << 30))
  }()

  /// Bytes that are taken now.
  public var takenBytes: Int { taken.withLock(waking: .nobody) { $0 } }

  /// Calls `body` while `count` bytes are taken.
  package func spending<Result, Failure: Error>(_ count: Int, _ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    let share = min(count, bytes)
    taken.wait { taken in
      guard share <= bytes - taken else { return nil as Void? }
      taken += share
      return ()
    }
    defer { taken.withLock(waking: .all) { $0 -= share } }
    return try body()
  }
}

extension DecodingBudget: Hashable {
  /// Whether it is the same object.
  public static func == (left: DecodingBudget, right: DecodingBudget) -> Bool { left === right }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
