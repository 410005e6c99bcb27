import CCurl

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
