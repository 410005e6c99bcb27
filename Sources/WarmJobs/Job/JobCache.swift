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

    /// The folder of the key's default: `$PREWARM_CACHE_DIR`, else `$XDG_CACHE_HOME/prewarm`, else `~/.cache/prewarm`.
    ///
    /// An empty variable counts as unset, as does an `XDG_CACHE_HOME` that is not absolute (XDG Base Directory
    /// Specification). A relative `PREWARM_CACHE_DIR` starts at the current folder. nil where this user has no home folder.
    public static func defaultDirectory(environment: [String: String]) -> String? {
      if let own = environment["PREWARM_CACHE_DIR"], !own.isEmpty { return JobPath(own, in: currentFolder()).absolute }
      if let shared = environment["XDG_CACHE_HOME"], shared.hasPrefix("/") { return "\(shared)/prewarm" }
      if let home = environment["HOME"], home.hasPrefix("/") { return "\(home)/.cache/prewarm" }
      return homeOfUser().map { "\($0)/.cache/prewarm" }
    }
  }
}

/// The home folder that the system's user database gives this user.
private func homeOfUser() -> String? {
  var record = passwd()
  var found: UnsafeMutablePointer<passwd>?
  return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16_384) { buffer in
    guard let start = buffer.baseAddress, getpwuid_r(getuid(), &record, start, buffer.count, &found) == 0, found != nil else {
      return nil
    }
    let home = String(cString: record.pw_dir)
    return home.hasPrefix("/") ? home : nil
  }
}

/// The absolute path of the current folder; `/` where it has been deleted.
func currentFolder() -> String {
  guard let path = getcwd(nil, 0) else { return "/" }
  defer { free(path) }
  return String(cString: path)
}
