extension Job {
  /// What is asked of a server, how patiently, and what answer is good.
  public struct Request: Sendable {
    /// How an entry is asked for.
    public enum Method: String, Sendable, CaseIterable {
      case get
      /// What the server says of it, without its bytes.
      case head
      /// By a range: its first 64 KiB, and more where its header needs more.
      case probe
    }

    /// A header field that is sent: its name is a token, its value holds no control characters (RFC 9110, section 5), and
    /// it is none that prewarm or libcurl sets itself. Values may be secrets.
    public struct Header: Sendable, Hashable {
      /// As written; its case does not count.
      public var name: String
      /// What is sent, which may be a secret.
      public var value: String

      /// A field; names and values are checked where a job file is read, not here.
      public init(name: String, value: String) {
        self.name = name
        self.value = value
      }
    }

    /// How entries are asked for; ``Method/get`` by default.
    public var method: Method
    /// Sent to the entry's own scheme, host and port only.
    public var headers: [Header]
    /// The value of `Accept`.
    public var accept: String
    /// The value of `User-Agent`.
    public var userAgent: String
    /// For one transfer, redirects included; nil: none. 60 s by default.
    public var timeout: Duration?
    /// From the start of a transfer to its connection, name look-up included; 10 s by default.
    public var connectTimeout: Duration
    /// How long no byte may come; nil: any time. 15 s by default.
    public var stallTimeout: Duration?
    /// Further attempts after a transient failure; 2 by default.
    public var retries: Int
    /// The bound of the first wait before a retry, doubled for each further one; 500 ms by default.
    public var backoffInitial: Duration
    /// The bound of every wait before a retry; 30 s by default.
    public var backoffMaximum: Duration
    /// Redirects followed in one transfer; 10 by default.
    public var redirects: Int
    /// Statuses of a good answer; 200 alone by default.
    public var acceptStatus: [ClosedRange<Int>]
    /// Bytes of a body; a longer one fails. nil: any number. 64 MiB by default.
    public var maxBytes: Int?
  }
}
