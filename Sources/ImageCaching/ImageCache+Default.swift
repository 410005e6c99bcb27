import Glibc

extension ImageCache {
  /// The folder of a cache for which none is named: `$PREWARM_CACHE_DIR`, else `$XDG_CACHE_HOME/prewarm`, else `~/.cache/prewarm`, as an
  /// absolute path.
  ///
  /// An empty variable counts as unset, as does an `XDG_CACHE_HOME` that is not absolute (XDG Base Directory
  /// Specification). A relative `PREWARM_CACHE_DIR` starts at the current folder. nil where this user has no home folder.
  public static func defaultDirectory(environment: [String: String]) -> String? {
    if let own = environment["PREWARM_CACHE_DIR"], !own.isEmpty { return own.hasPrefix("/") ? own : "\(currentFolder())/\(own)" }
    if let shared = environment["XDG_CACHE_HOME"], shared.hasPrefix("/") { return "\(shared)/prewarm" }
    if let home = environment["HOME"], home.hasPrefix("/") { return "\(home)/.cache/prewarm" }
    return homeOfUser().map { "\($0)/.cache/prewarm" }
  }

  /// The cache in the default directory, for the whole process; made when it is first used.
  ///
  /// Where it cannot be opened, this traps with the reason: a program that wants to go on then opens one of its own.
  public static let shared: ImageCache = {
    var environment: [String: String] = [:]
    for name in ["PREWARM_CACHE_DIR", "XDG_CACHE_HOME", "HOME"] {
      if let value = getenv(name) { environment[name] = String(cString: value) }
    }
    guard let directory = defaultDirectory(environment: environment) else {
      fatalError("no shared image cache: this user has no home folder; set PREWARM_CACHE_DIR")
    }
    do throws(CacheError) {
      return try ImageCache(Configuration(directory: directory))
    } catch {
      fatalError("no shared image cache: \(error)")
    }
  }()
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
private func currentFolder() -> String {
  guard let path = getcwd(nil, 0) else { return "/" }
  defer { free(path) }
  return String(cString: path)
}
