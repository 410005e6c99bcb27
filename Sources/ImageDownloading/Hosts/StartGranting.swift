public import ImagePrimitives

/// Who decides for several downloaders together when each of them may begin a request, so that they keep to a rate as one would.
///
/// It shares the rates of ``DownloadLimits`` and the pauses that hosts ask for; a downloader is told of it by
/// ``ImageDownloader/setLimits(_:grantedBy:)``. How many transfers a host takes at once, by ``DownloadLimits/perHost``,
/// ``DownloadLimits/isAdaptive`` and the ``CircuitBreaker``, stays each downloader's own.
///
/// All methods are called on the transfer thread, never under a lock, and hold up all transfers while they last: they hand on
/// what they get, and answers come later by ``ImageDownloader/grantStarts(_:)``.
public protocol StartGranting: AnyObject, Sendable {
  /// Asks for starts. There is at most one request of an origin that is not answered, be it by a grant, by
  /// ``ImageDownloader/authorityIsAway(workers:phase:)`` or ``ImageDownloader/authorityIsBack(workers:)``, and no other until
  /// what was granted is used up or lost.
  func requestStarts(_ requests: [StartRequest])

  /// Says that a host has asked this downloader for a pause of `duration`, from now on, by that status; for pauses that came by
  /// ``ImageDownloader/rest(_:for:status:)`` it is not called.
  func noteRest(of origin: String, for duration: Duration, status: Int)
}

/// What a downloader would like to begin.
public struct StartRequest: Sendable, Hashable {
  /// The server that is connected to, as RFC 6454, section 6.2, writes an origin, such as `https://example.com` or
  /// `http://127.0.0.1:8080`; empty for the rate over all hosts.
  public var origin: String
  /// So many starts, at least 1: what waits, and at most what the rate allows in a tenth of a second, or one.
  public var count: Int
  /// Between two starts, by the rate that the downloaders have in common; above zero.
  public var intervalNanoseconds: UInt64

  /// A request.
  public init(origin: String, count: Int, intervalNanoseconds: UInt64) {
    self.origin = origin
    self.count = count
    self.intervalNanoseconds = intervalNanoseconds
  }
}

/// Moments at which requests may begin, each for one: also for a redirect's next hop, a retry, or a `robots.txt`.
public struct StartGrant: Sendable, Hashable {
  /// As the request has it.
  public var origin: String
  /// So many starts; one below 1 is a programmer's error and traps where it is used.
  public var count: Int
  /// The moment of the first. What has not begun a second after its moment does not begin by it any more, unless it has waited
  /// since before that for a start over all hosts, for which it is kept until a second after that one's moment.
  public var first: MonotonicInstant
  /// From one to the next.
  public var intervalNanoseconds: UInt64

  /// A grant.
  public init(origin: String, count: Int, first: MonotonicInstant, intervalNanoseconds: UInt64) {
    self.origin = origin
    self.count = count
    self.first = first
    self.intervalNanoseconds = intervalNanoseconds
  }
}

/// What a ``StartGranting`` tells its downloader, from any thread.
extension ImageDownloader {
  /// Changes all limits, as ``setLimits(_:)`` does, and has every start within their rates granted by `authority`; nil: the rates
  /// are this downloader's own.
  ///
  /// The authority is kept until limits are set without it, or the downloader is shut down.
  public func setLimits(_ limits: DownloadLimits, grantedBy authority: (any StartGranting)?) {
    Self.requireLimits(limits.concurrency, perHost: limits.perHost)
    for rate in [limits.rate, limits.perHostRate] {
      if let rate { trap(unless: rate > 0, "a rate has to be above zero, not \(rate)") }
    }
    inbox.post(.setLimits(limits, authority))
  }

  /// Lets requests begin. What nobody has asked for any more is passed over.
  public func grantStarts(_ grants: [StartGrant]) {
    for grant in grants { trap(unless: grant.count > 0, "a grant is of at least 1 start, not \(grant.count)") }
    inbox.post(.grantStarts(grants))
  }

  /// Says that the authority can grant nothing for a while: what was asked for is not answered. Until it is back, this downloader
  /// keeps to its rates' part of one in `workers`, at least 1, so that what is held can be finished; a request that it is told of
  /// meanwhile is to be answered by this too.
  ///
  /// What was granted and is not used is lost. `phase`, from 0 to below 1 and another for each worker, is what part of the time
  /// between two of its starts this one waits before it begins by itself, so that not all workers begin at once; 0: none.
  ///
  /// Where none of so many workers reaches the authority, all together stay within the rates, but for a few starts at hosts that
  /// are new to them. Where only some of them do not, the authority grants the whole rates to the others: `cut` of them may then
  /// begin `cut / workers` of the rates besides, for as long as they have something left that they got before.
  public func authorityIsAway(workers: Int, phase: Double = 0) {
    trap(unless: workers > 0, "rates are parted among at least 1 worker, not \(workers)")
    trap(unless: (0..<1).contains(phase), "a phase is from 0 to below 1, not \(phase)")
    inbox.post(.changeAuthority(.away(workers: workers, phase: phase)))
  }

  /// Says that the authority grants starts again, as it does from the beginning; what waits asks for them anew.
  ///
  /// Above 1, `workers` is in how many parts the rates are while some of them may still be without the authority: besides what it
  /// is granted this downloader then keeps to one of those, as while the authority was away, until it is called with another
  /// number.
  public func authorityIsBack(workers: Int = 1) {
    trap(unless: workers > 0, "rates are parted among at least 1 worker, not \(workers)")
    inbox.post(.changeAuthority(workers > 1 ? .returning(workers: workers) : .granting))
  }

  /// Lets nothing begin at `origin`, written as in a ``StartRequest``, for `duration` from now on, since it has asked another
  /// downloader for that by `status`: as if it had asked this one. What is no origin is passed over.
  public func rest(_ origin: String, for duration: Duration, status: Int) {
    guard let origin = URLOrigin(serialized: origin) else { return }
    inbox.post(.rest(origin, for: duration, status: status))
  }
}
