internal import Glibc

extension Job {
  /// Which cache, and how long and how much it keeps.
  public struct Cache: Sendable {
    /// When the cache is read and written.
    public enum Mode: String, Sendable, CaseIterable {
      /// Look first, fetch and keep what is missing.
      case use
      /// Always fetch; cache and blacklist are neither read nor written.
      case bypass
      /// Never the network.
      case only
      /// Ask for every entry, conditionally where it is cached; what the server says is still right stays.
      case refresh
    }

    /// Whose word counts for how long an entry is fresh.
    public enum Freshness: String, Sendable, CaseIterable {
      /// ``Cache/maxAge`` alone.
      case age
      /// The server's (RFC 9111); ``Cache/maxAge`` where it says nothing.
      case http
    }

    /// The limits of the memory layer; nil: none.
    public struct Memory: Sendable, Hashable {
      /// Bytes of pixels; 256 MiB by default.
      public var maxCost: Int?
      /// Images; any number by default.
      public var maxCount: Int?

      /// A layer of those limits.
      public init(maxCost: Int?, maxCount: Int?) {
        self.maxCost = maxCost
        self.maxCount = maxCount
      }
    }

    /// What of a URL tells images apart.
    public enum Key: Sendable, Hashable {
      case url, urlWithoutQuery
      /// All but the parameters of those names, which are as they stand in a URL in normal form.
      case droppingQuery(Set<String>)
    }

    /// Which time counts for expiry and for what is trimmed first.
    public enum ExpireBy: String, Sendable, CaseIterable {
      case modification, access
    }

    /// The absolute path of the folder that holds the namespaces.
    public var directory: String
    /// Letters, digits, `.`, `_` and `-`, not beginning with a dot.
    public var namespace: String
    /// When it is read and written; ``Mode/use`` by default.
    public var mode: Mode
    /// How old an entry is still fresh; nil: any. 7 days by default, 0 expires at once.
    public var maxAge: Duration?
    /// Bytes of bodies, beyond which the oldest are trimmed; nil: any number.
    public var maxSize: Int?
    /// The part of ``maxSize`` that trimming leaves, 0 to 1; one half by default.
    public var trimTo: Double
    /// Which time counts; ``ExpireBy/modification`` by default.
    public var expireBy: ExpireBy
    /// Whose word counts; ``Freshness/age`` by default.
    public var freshness: Freshness
    /// What would expire sooner than this counts as expired; zero by default.
    public var minFresh: Duration
    /// The layer of decoded images; nil, the default: none.
    public var memory: Memory?
    /// Further places to look in, in order; none by default.
    public var readOnly: [JobPath]
    /// What of a URL tells images apart; ``Key/url`` by default.
    public var key: Key
    /// Whether every hit's body is read and its sum checked; no by default.
    public var verifiesHits: Bool
  }
}

/// The absolute path of the current folder; `/` where it has been deleted.
package func currentFolder() -> String {
  guard let path = getcwd(nil, 0) else { return "/" }
  defer { free(path) }
  return String(cString: path)
}
