package import Base

/// A request that is about to be made.
public struct DownloadRequest: Sendable, Hashable {
  /// The URL of this hop, with its userinfo if it has any.
  public var url: String
  /// The headers to send, except those that libcurl adds (`Host`, `Authorization`, `Cookie`).
  public var headers: [HeaderField]

  public init(url: String, headers: [HeaderField]) {
    self.url = url
    self.headers = headers
  }
}

/// A function of a hook, which equals only itself: two closures can't be compared.
final class Hook<Function: Sendable>: Sendable, Hashable {
  let call: Function

  init(_ function: Function) { call = function }

  static func == (left: Hook, right: Hook) -> Bool { left === right }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Changes or rejects each request before it is made.
///
/// Each hook that is created equals only itself and its copies, whatever its name: create it once, since downloads share a transfer only if
/// their options are equal. Hooks must be quick: they are called on the thread of the transfer (on several at once if there are several),
/// never under a lock, and block its other transfers until they return.
public struct RequestModifier: Sendable, Hashable {
  /// Its name in messages.
  public let name: String
  let hook: Hook<@Sendable (DownloadRequest) -> DownloadRequest?>

  /// Creates a modifier that returns the request to make, or nil to reject it, which fails the download as `internal`.
  ///
  /// Called for each request to the download's own origin. It may change headers, path and query, for a signature,
  /// but not scheme, host or port, which limits and secrets depend on: that fails as `internal` too.
  public init(name: String, modify: @escaping @Sendable (DownloadRequest) -> DownloadRequest?) {
    self.name = name
    hook = Hook(modify)
  }
}

/// Changes or rejects each response before it is judged; see ``RequestModifier`` about equality and threads.
public struct ResponseModifier: Sendable, Hashable {
  /// Its name in messages.
  public let name: String
  let hook: Hook<@Sendable (ResponseHead) -> ResponseHead?>

  /// Creates a modifier that returns the head to judge by, or nil to reject it, which fails the download as `content-type`.
  ///
  /// Called for the head of each response that isn't a redirect.
  public init(name: String, modify: @escaping @Sendable (ResponseHead) -> ResponseHead?) {
    self.name = name
    hook = Hook(modify)
  }
}

/// Decrypts the received bytes; see ``RequestModifier`` about equality and threads.
public struct Decryptor: Sendable, Hashable {
  /// Its name in messages.
  public let name: String
  let hook: Hook<@Sendable ([UInt8]) -> [UInt8]?>

  /// Creates a decryptor that returns nil for a body that it can't read, which fails the download as `content-type`. With it, bodies
  /// aren't streamed but held in memory, up to ``DownloadOptions/maxBytes``.
  public init(name: String, decrypt: @escaping @Sendable ([UInt8]) -> [UInt8]?) {
    self.name = name
    hook = Hook(decrypt)
  }
}

/// A judgement of a body by its beginning.
package enum PrefixVerdict: Sendable, Equatable {
  /// No objection; the body isn't judged again in this attempt.
  case accepted
  /// Undecided: judge again at `minimum` bytes from the start; those before `from` that haven't been received aren't needed.
  case needsMore(minimum: Int, from: Int? = nil)
  /// The transfer stops now, and the download fails permanently: it isn't retried, whatever the failure says.
  case refused(ImageFailure)
}

/// Facts about a body besides its beginning.
package struct PrefixHead: Sendable, Hashable {
  package var contentType: String?
  /// The length of the whole body in bytes, if the server declared it and the body isn't coded.
  package var totalBytes: Int?
  package var isComplete: Bool
  /// Whether bytes before a requested start are missing, and are zero.
  package var hasGaps = false
  /// A coding of the beginning that can't be decoded, or is unknown.
  package var undecoded: String?

  package init(contentType: String? = nil, totalBytes: Int? = nil, isComplete: Bool = false) {
    self.contentType = contentType
    self.totalBytes = totalBytes
    self.isComplete = isComplete
  }
}

/// Decides by the first bytes of a body whether to transfer the rest, on the thread of the transfer. Judges of one name are equal: it says
/// all that distinguishes them.
package struct PrefixJudge: Sendable, Hashable {
  package let name: String
  let judge: @Sendable (_ prefix: UnsafeRawBufferPointer, _ head: PrefixHead) -> PrefixVerdict

  /// Creates a judge of beginnings, which are valid during the call only.
  ///
  /// With ``DownloadOptions/Method-swift.enum/get`` it is called while the body arrives: first at 512 bytes, then as it asks for more,
  /// but with at least 512 more each time, up to 1 MiB and within the first chunk of a streamed body. A body that is complete by
  /// then is left to its consumer. With ``DownloadOptions/Method-swift.enum/probe`` it is called when the prefix or the whole body is
  /// available, but not for an empty body; if it asks for more, it gets more, at last the whole body. The bytes are decoded if the body is coded; with a ``Decryptor`` no judge is called.
  package init(name: String, judge: @escaping @Sendable (_ prefix: UnsafeRawBufferPointer, _ head: PrefixHead) -> PrefixVerdict) {
    self.name = name
    self.judge = judge
  }

  package static func == (left: PrefixJudge, right: PrefixJudge) -> Bool { left.name == right.name }
  package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
