/// How the downloads of one job are made: what is sent, how long is waited, what is accepted.
///
/// One object serves all downloads of a job. It never changes, so that the transfer thread prepares a handle once for it
/// and recognises it by identity.
public final class DownloadOptions: Sendable {
  /// Names and values sent with each request, to the download's own scheme, host and port only: a redirect elsewhere drops them.
  /// They stand before ``accept`` and ``userAgent`` where they name the same header.
  public let headers: [(name: String, value: String)]
  /// The `Accept` header; images by default.
  public let accept: String
  /// The `User-Agent` header.
  public let userAgent: String
  /// What one attempt may take, redirects included; 60 s by default.
  public let timeout: Duration
  /// What resolving the name, connecting and the TLS handshake may take together; 10 s by default.
  public let connectTimeout: Duration
  /// How long a connected transfer may go without a byte; 15 s by default, as SDWebImage's download timeout.
  public let stallTimeout: Duration
  /// How often a transient failure is tried again; 2 by default.
  public let retries: Int
  /// How long to wait before a retry.
  public let backoff: Backoff
  /// How many redirects one attempt follows; 10 by default, 0 follows none.
  public let redirects: Int
  /// The statuses whose body is the image; 200 by default.
  public let acceptStatus: Set<Int>
  /// Bodies with more bytes fail as `too-large`; 64 MiB by default.
  public let maxBytes: Int
  /// Bodies with more bytes are handed over in chunks while they arrive, and smaller ones whole; 128 KiB by default. Each running
  /// transfer may hold that much in memory, so that a large value is bounded by ``maxBytes`` alone.
  public let streamAbove: Int

  /// Exponential backoff with full jitter: a wait is drawn evenly from zero to `initial · 2ⁿ`, at most `maximum`.
  ///
  /// The draw spreads clients that failed together; see "Exponential Backoff and Jitter" in the AWS Architecture Blog.
  public struct Backoff: Sendable, Hashable {
    /// The longest wait before the first retry; 500 ms by default.
    public var initial: Duration
    /// The longest wait before any retry; 30 s by default.
    public var maximum: Duration

    /// A backoff between those two.
    public init(initial: Duration = .milliseconds(500), maximum: Duration = .seconds(30)) {
      self.initial = initial
      self.maximum = maximum
    }

    /// The longest wait before retry `retry`, counted from 0.
    public func limit(beforeRetry retry: Int) -> Duration {
      var limit = initial
      for _ in 0..<max(0, retry) where limit < maximum { limit *= 2 }
      return min(limit, maximum)
    }
  }

  /// Options with the defaults of a job file.
  ///
  /// A header that ``isValidHeader(name:value:)`` refuses is a programmer's error and traps: who reads headers from a file checks
  /// them there.
  public init(
    headers: [(name: String, value: String)] = [],
    accept: String = "image/webp,image/*;q=0.8",
    userAgent: String = "prewarm",
    timeout: Duration = .seconds(60),
    connectTimeout: Duration = .seconds(10),
    stallTimeout: Duration = .seconds(15),
    retries: Int = 2,
    backoff: Backoff = Backoff(),
    redirects: Int = 10,
    acceptStatus: Set<Int> = [200],
    maxBytes: Int = 64 << 20,
    streamAbove: Int = 128 << 10
  ) {
    for (name, value) in headers + [("Accept", accept), ("User-Agent", userAgent)] {
      precondition(Self.isValidHeader(name: name, value: value), "\(name): not a valid header")
    }
    self.headers = headers
    self.accept = accept
    self.userAgent = userAgent
    self.timeout = timeout
    self.connectTimeout = connectTimeout
    self.stallTimeout = stallTimeout
    self.retries = retries
    self.backoff = backoff
    self.redirects = redirects
    self.acceptStatus = acceptStatus
    self.maxBytes = maxBytes
    self.streamAbove = streamAbove
  }

  /// Whether `name` is a token and `value` holds no control character (RFC 9110, 5.1 and 5.5).
  public static func isValidHeader(name: String, value: String) -> Bool {
    let isToken = { (byte: UInt8) -> Bool in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
      }
    }
    return !name.isEmpty && name.utf8.allSatisfy(isToken) && value.utf8.allSatisfy { $0 == 9 || ($0 >= 32 && $0 != 127) }
  }
}
