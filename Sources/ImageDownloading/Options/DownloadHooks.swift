public import ImagePrimitives

/// A request that is about to be made.
public struct DownloadRequest: Sendable, Hashable {
  /// The URL of this hop, with its userinfo if it has one.
  public var url: String
  /// The headers that will be sent, but for those that libcurl adds (`Host`, `Authorization`, `Cookie`).
  public var headers: [HeaderField]

  public init(url: String, headers: [HeaderField]) {
    self.url = url
    self.headers = headers
  }
}

/// Chooses the headers of each request by its URL.
///
/// All hooks are values with a name, by which two count as equal: options that hold hooks can be compared, and downloads with
/// equal options share a transfer. They are called on the transfer thread, never under a lock, and hold up all transfers while
/// they last, so they must be quick.
public struct HeaderFilter: Sendable, Hashable {
  /// What tells it from other filters.
  public let name: String
  let filter: @Sendable (_ url: String, _ headers: [HeaderField]) -> [HeaderField]

  /// A filter that returns the headers to send to `url`, given those that would be sent. Called for each request to the
  /// download's own origin; a header that ``DownloadOptions/isValidHeader(name:value:)`` refuses fails the download as
  /// `internal`.
  public init(name: String, filter: @escaping @Sendable (_ url: String, _ headers: [HeaderField]) -> [HeaderField]) {
    self.name = name
    self.filter = filter
  }

  public static func == (left: HeaderFilter, right: HeaderFilter) -> Bool { left.name == right.name }
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// Changes or refuses each request before it is made; see ``HeaderFilter`` on names and threads.
public struct RequestModifier: Sendable, Hashable {
  /// What tells it from other modifiers.
  public let name: String
  let modify: @Sendable (DownloadRequest) -> DownloadRequest?

  /// A modifier that returns the request to make, or nil to refuse it, which fails the download as `internal`.
  ///
  /// Called for each request to the download's own origin, after the header filter. It may change path and query, for a
  /// signature, and not scheme, host and port, by which limits and secrets go: that fails as `internal` too.
  public init(name: String, modify: @escaping @Sendable (DownloadRequest) -> DownloadRequest?) {
    self.name = name
    self.modify = modify
  }

  public static func == (left: RequestModifier, right: RequestModifier) -> Bool { left.name == right.name }
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// Changes or refuses each answer before it is judged; see ``HeaderFilter`` on names and threads.
public struct ResponseModifier: Sendable, Hashable {
  /// What tells it from other modifiers.
  public let name: String
  let modify: @Sendable (ResponseHead) -> ResponseHead?

  /// A modifier that returns the head to judge the answer by, or nil to refuse it, which fails the download as `content-type`.
  ///
  /// Called for each answer that is no redirect, once its head is here.
  public init(name: String, modify: @escaping @Sendable (ResponseHead) -> ResponseHead?) {
    self.name = name
    self.modify = modify
  }

  public static func == (left: ResponseModifier, right: ResponseModifier) -> Bool { left.name == right.name }
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// Turns the bytes that came into those of the image; see ``HeaderFilter`` on names and threads.
public struct Decryptor: Sendable, Hashable {
  /// What tells it from other decryptors.
  public let name: String
  let decrypt: @Sendable ([UInt8]) -> [UInt8]?

  /// A decryptor that returns nil for a body that it cannot read, which fails the download as `content-type`. With it, bodies are
  /// not streamed but gathered in memory, up to ``DownloadOptions/maxBytes``.
  public init(name: String, decrypt: @escaping @Sendable ([UInt8]) -> [UInt8]?) {
    self.name = name
    self.decrypt = decrypt
  }

  public static func == (left: Decryptor, right: Decryptor) -> Bool { left.name == right.name }
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// What the beginning of a body says of the whole.
public enum PrefixVerdict: Sendable, Equatable {
  /// Nothing speaks against it; it is not judged again in this attempt.
  case accepted
  /// It cannot be told yet: to be asked again when so many bytes from the start are here.
  case needsMore(minimum: Int)
  /// The transfer stops now, and the download fails so, for good: whatever the failure says, it is not tried again.
  case refused(Failure)
}

/// What is known of a body beside its beginning.
public struct PrefixHead: Sendable, Hashable {
  /// The `Content-Type` header.
  public var contentType: String?
  /// The length of the whole body in bytes, where the server told it and the body does not come coded.
  public var totalBytes: Int?
  /// Whether the beginning is all there is.
  public var isComplete: Bool

  /// What is known; nothing by default.
  public init(contentType: String? = nil, totalBytes: Int? = nil, isComplete: Bool = false) {
    self.contentType = contentType
    self.totalBytes = totalBytes
    self.isComplete = isComplete
  }
}

/// Decides by the first bytes of a body whether the rest is worth its transfer; see ``HeaderFilter`` on names and threads.
public struct PrefixJudge: Sendable, Hashable {
  /// What tells it from other judges.
  public let name: String
  let judge: @Sendable (_ prefix: UnsafeRawBufferPointer, _ head: PrefixHead) -> PrefixVerdict

  /// A judge of beginnings, which are valid during the call only.
  ///
  /// With ``DownloadOptions/Method-swift.enum/get`` it is asked while the body arrives: first when 512 bytes are here, then as it
  /// asks for more, but with 512 more each time; up to 1 MiB, and within the first chunk of a body that is streamed. A body that
  /// is whole by then is left to who takes it. With ``DownloadOptions/Method-swift.enum/probe`` it is asked when the prefix is
  /// here, or the whole body, but not of an empty one. The bytes are those of the body, decoded where it came coded; with a
  /// ``Decryptor`` nobody is asked.
  public init(
    name: String,
    judge: @escaping @Sendable (_ prefix: UnsafeRawBufferPointer, _ head: PrefixHead) -> PrefixVerdict
  ) {
    self.name = name
    self.judge = judge
  }

  public static func == (left: PrefixJudge, right: PrefixJudge) -> Bool { left.name == right.name }
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
