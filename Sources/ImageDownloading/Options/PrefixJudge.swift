public import ImagePrimitives

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

  /// Whether both have one name.
  public static func == (left: PrefixJudge, right: PrefixJudge) -> Bool { left.name == right.name }
  /// Hashes the name.
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
