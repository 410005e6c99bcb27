import CCurl
import Glibc

/// libcurl as a whole.
enum Curl {
  /// 7.87.0, which brought `CURLOPT_QUICK_EXIT`: without it a slow resolver holds up the loop for seconds.
  private static let minimumVersion: UInt32 = 0x075700

  private static let initialised = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

  /// Starts libcurl once, and throws where it cannot do what the downloader relies on.
  static func requireFeatures() throws(DownloaderError) {
    guard initialised == CURLE_OK else {
      throw DownloaderError(message: "libcurl could not be started: \(Curl.describe(initialised))")
    }
    guard let version = curl_version_info(CURLVERSION_FIRST)?.pointee else {
      throw DownloaderError(message: "libcurl does not tell its version; install libcurl4")
    }
    guard version.version_num >= minimumVersion else {
      throw DownloaderError(message: "libcurl \(String(cString: version.version)) is too old; 7.87 or later is needed")
    }
    for (bit, name) in [(CURL_VERSION_ASYNCHDNS, "asynchronous name resolving"), (CURL_VERSION_SSL, "TLS")]
    where version.features & bit == 0 {
      throw DownloaderError(message: "libcurl was built without \(name); install Debian's libcurl4")
    }
  }

  /// libcurl's words for a code.
  static func describe(_ code: CURLcode) -> String { String(cString: curl_easy_strerror(code)) }
}

/// A list of texts as libcurl takes them, which has to live for as long as a handle may use it.
final class CurlList {
  private(set) var first: UnsafeMutablePointer<curl_slist>?

  init(_ lines: some Sequence<String>) {
    for line in lines { append(line) }
  }

  /// Those headers; of those that libcurl would add itself, the ones in `removed` are left out.
  init(headers fields: [HeaderField], removing removed: [String]) {
    // libcurl drops a header whose value is empty, unless it ends in a semicolon instead of a colon; and its own for an empty
    // one.
    for field in fields { append(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)") }
    for name in removed where !fields.contains(where: { $0.name.equalsIgnoringCase(name) }) { append("\(name):") }
  }

  deinit { curl_slist_free_all(first) }

  private func append(_ line: String) {
    guard let list = curl_slist_append(first, line) else { fatalError("libcurl could not keep a text: out of memory") }
    first = list
  }
}

/// What transfers share beside connections: TLS sessions, and a jar of cookies for those that want one.
///
/// A handle takes part in all that its share has, so there are two shares: only one of them has cookies.
final class CurlShares {
  /// RFC 6265, section 6.1, asks for as many at least, and for 50 per domain; browsers keep 180 (Chrome, Firefox).
  private static let maximumCookies = 3000
  private static let maximumDomainCookies = 180
  /// The jar is looked at after so many `Set-Cookie` headers.
  static let checkedCookies = 256

  private let plain: UnsafeMutableRawPointer
  private let withCookies: UnsafeMutableRawPointer

  init() throws(DownloaderError) {
    guard let plain = curl_share_init(), let withCookies = curl_share_init() else {
      throw DownloaderError(message: "libcurl could not be started: out of memory")
    }
    self.plain = plain
    self.withCookies = withCookies
    for share in [plain, withCookies] { curl_share_set_data(share, CURL_LOCK_DATA_SSL_SESSION) }
    curl_share_set_data(withCookies, CURL_LOCK_DATA_COOKIE)
  }

  /// No handle uses them any more, since each keeps this.
  deinit {
    curl_share_cleanup(plain)
    curl_share_cleanup(withCookies)
  }

  /// Lets `easy` use one of them, which a `curl_easy_reset` keeps.
  func attach(_ easy: UnsafeMutableRawPointer, cookies: Bool) {
    curl_set_pointer(easy, CURLOPT_SHARE, cookies ? withCookies : plain)
  }

  /// Empties the jar.
  func clearCookies() {
    withJar { curl_set_text($0, CURLOPT_COOKIELIST, "ALL") }
  }

  /// Forgets the cookies of each domain that has more than a browser would keep, and all if there still are too many.
  func boundCookies() {
    withJar { easy in
      var list: UnsafeMutablePointer<curl_slist>?
      curl_get_list(easy, CURLINFO_COOKIELIST, &list)
      defer { curl_slist_free_all(list) }
      let cookies = sequence(first: list, next: { $0?.pointee.next }).compactMap { $0?.pointee.data }
      var counts: [String: Int] = [:]
      for cookie in cookies { counts[Self.domain(of: cookie), default: 0] += 1 }
      guard cookies.count > Self.maximumCookies || counts.values.contains(where: { $0 > Self.maximumDomainCookies }) else {
        return
      }
      let kept = cookies.filter { counts[Self.domain(of: $0), default: 0] <= Self.maximumDomainCookies }
      curl_set_text(easy, CURLOPT_COOKIELIST, "ALL")
      if kept.count <= Self.maximumCookies { for cookie in kept { curl_set_text(easy, CURLOPT_COOKIELIST, cookie) } }
    }
  }

  /// In the format of Netscape's cookie files it comes first.
  private static func domain(of cookie: UnsafePointer<CChar>) -> String {
    String(decoding: UnsafeRawBufferPointer(start: cookie, count: strcspn(cookie, "\t")), as: UTF8.self)
  }

  private func withJar(_ body: (UnsafeMutableRawPointer) -> Void) {
    guard let easy = curl_easy_init() else { fatalError("libcurl could not make a handle: out of memory") }
    attach(easy, cookies: true)
    body(easy)
    curl_easy_cleanup(easy)
  }
}
