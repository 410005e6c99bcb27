import CCurl

/// What transfers share beside connections: TLS sessions, and a jar of cookies for those that want one.
///
/// A handle takes part in all that its share has, so there are two shares: only one of them has cookies.
final class CurlShares {
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
    guard let easy = curl_easy_init() else { fatalError("libcurl could not make a handle: out of memory") }
    attach(easy, cookies: true)
    curl_set_text(easy, CURLOPT_COOKIELIST, "ALL")
    curl_easy_cleanup(easy)
  }
}
