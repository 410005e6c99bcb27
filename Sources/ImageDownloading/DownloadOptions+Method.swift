extension DownloadOptions {
  /// How much of an image is asked for.
  public enum Method: Sendable, Hashable {
    /// All of it.
    case get
    /// What the server says of it, without its bytes: `HEAD` (RFC 9110, section 9.3.2). A server that answers 405 or 501 is asked
    /// by ``probe`` instead, in the same attempt, and so are its other URLs for as long as the downloader lives.
    case head
    /// Its first ``DownloadOptions/probeBytes`` bytes, by a range (RFC 9110, section 14), and more where a ``PrefixJudge`` needs
    /// it, up to 1 MiB and in 16 requests. Of a server that ignores ranges the same is taken, and little more is read. With a
    /// ``Decryptor``, which can read whole bodies only, it is a ``get``.
    case probe
  }

  /// How many bytes a probe asks for first: 64 KiB.
  public static let probeBytes = 64 << 10
}
