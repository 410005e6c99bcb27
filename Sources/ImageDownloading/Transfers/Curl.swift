import Base
import CCurl
import Glibc
import Platform

/// The global state of libcurl.
enum Curl {
  /// 7.87.0 introduced `CURLOPT_QUICK_EXIT`: without it a slow resolver blocks the scheduler for seconds.
  private static let minimumVersion: UInt32 = 0x075700

  private static let initialised = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

  /// Initialises libcurl once; throws if it lacks required features.
  static func requireFeatures() throws(DownloaderError) {
    guard initialised == CURLE_OK else {
      throw DownloaderError(message: "cannot initialise libcurl: \(Curl.describe(initialised))")
    }
    guard let version = curl_version_info(CURLVERSION_FIRST)?.pointee else {
      throw DownloaderError(message: "libcurl doesn't report its version; install libcurl4")
    }
    guard version.version_num >= minimumVersion else {
      throw DownloaderError(message: "libcurl \(String(cString: version.version)) is too old; install 7.87 or later")
    }
    for (bit, name) in [(CURL_VERSION_ASYNCHDNS, "asynchronous name resolution"), (CURL_VERSION_SSL, "TLS")]
    where version.features & bit == 0 {
      throw DownloaderError(message: "libcurl was built without \(name); install Debian's libcurl4")
    }
  }

  static func describe(_ code: CURLcode) -> String { String(cString: curl_easy_strerror(code)) }
}

extension ImageDownloader {
  /// libcurl and the libraries that it was built with, each with its version.
  package static var libraries: String { String(cString: curl_version()) }

  package static var supportsHTTP2: Bool {
    curl_version_info(CURLVERSION_FIRST).map { $0.pointee.features & CURL_VERSION_HTTP2 != 0 } ?? false
  }
}

/// The certificates of the CAs that this machine trusts.
///
/// As for curl, `CURL_CA_BUNDLE`, or `SSL_CERT_FILE` and `SSL_CERT_DIR`, name them. Otherwise they are where libcurl was built to look, or,
/// since a build runs on many distributions, where another one keeps them.
package struct SystemCertificates: Sendable {
  /// A PEM file.
  package private(set) var file: String?
  /// A folder of PEM files that are named by hashes; the distribution's only if it has more certificates than its file. With a folder,
  /// libcurl reads the file again for each connection, which takes 26 ms with Debian's.
  package private(set) var folder: String?
  /// Whether libcurl finds the file by itself.
  private(set) var isStandard = false
  /// Whether the machine has none, so that no server's certificate can be verified.
  package var isEmpty: Bool { file == nil && folder == nil }

  package static let found = SystemCertificates()

  /// The list of Go (crypto/x509, root_linux.go): Debian, Fedora, openSUSE, OpenELEC, RHEL, Alpine.
  private static let files = [
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/pki/tls/cacert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
  ]

  private init() {
    let bundle = environmentVariable("CURL_CA_BUNDLE")
    (file, folder) = (bundle ?? environmentVariable("SSL_CERT_FILE"), bundle == nil ? environmentVariable("SSL_CERT_DIR") : nil)
    let version = curl_version_info(CURLVERSION_SEVENTH)?.pointee
    let standard = version?.cainfo.map { String(cString: $0) }
    let standardFolder = version?.capath.map { String(cString: $0) }
    if isEmpty {
      file = ([standard].compactMap(\.self) + Self.files).first { access($0, R_OK) == 0 }
      folder = standardFolder
    }
    isStandard = file == standard
    guard let named = folder, named == standardFolder, file == nil || isStandard else { return }
    // OpenSSL looks for names such as "06dc52d5.0". Debian's file has 0.2 MB.
    let found = names(inFolder: named)?.count { $0.utf8.dropFirst(8).first == UInt8(ascii: ".") && $0.last?.isNumber == true }
    let lines = file.flatMap { readText($0, limit: 16 << 20) }?.utf8.split(separator: UInt8(ascii: "\n"))
    if found ?? 0 <= lines?.count(where: { $0.starts(with: "-----END".utf8) }) ?? 0 { folder = nil }
  }
}

/// A list of strings for libcurl, which must outlive the handles that use it.
final class CurlList {
  private(set) var first: UnsafeMutablePointer<curl_slist>?

  init(_ lines: some Sequence<String>) {
    for line in lines { append(line) }
  }

  /// Creates a list of headers; those in `removed` are suppressed if libcurl would add them.
  init(headers fields: [HeaderField], removing removed: [String]) {
    // libcurl drops a header with an empty value unless a semicolon replaces the colon; with a colon it suppresses its own.
    for field in fields { append(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)") }
    for name in removed where !fields.contains(where: { $0.name.equalsIgnoringCase(name) }) { append("\(name):") }
  }

  deinit { curl_slist_free_all(first) }

  private func append(_ line: String) {
    guard let list = curl_slist_append(first, line) else { fatalError("libcurl: out of memory") }
    first = list
  }
}

/// State that the transfers of all threads share: TLS sessions, resolved names, and a cookie jar for those that want one.
///
/// A handle uses everything in its share, so there are two: only one has cookies. Each has its own sessions and names.
final class CurlShares {
  /// RFC 6265, section 6.1, requires at least 3000, and 50 per domain; browsers keep 180 (Chrome, Firefox).
  private static let maximumCookies = 3000
  private static let maximumDomainCookies = 180
  /// The jar is checked after this many `Set-Cookie` headers.
  static let checkedCookies = 256

  private static let kinds = Int(CURL_LOCK_DATA_LAST.rawValue)

  private let plain: UnsafeMutableRawPointer
  private let withCookies: UnsafeMutableRawPointer
  /// One for each kind of data.
  private let mutexes = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: kinds)

  init() throws(DownloaderError) {
    guard let plain = curl_share_init(), let withCookies = curl_share_init() else {
      throw DownloaderError(message: "cannot initialise libcurl: out of memory")
    }
    self.plain = plain
    self.withCookies = withCookies
    for kind in 0..<Self.kinds { pthread_mutex_init(mutexes + kind, nil) }
    for share in [plain, withCookies] {
      for data in [CURL_LOCK_DATA_SSL_SESSION, CURL_LOCK_DATA_DNS] { curl_share_set_data(share, data) }
      curl_share_set_locks(
        share,
        { _, data, _, mutexes in pthread_mutex_lock(CurlShares.mutex(of: data, mutexes)) },
        { _, data, mutexes in pthread_mutex_unlock(CurlShares.mutex(of: data, mutexes)) },
        mutexes
      )
    }
    curl_share_set_data(withCookies, CURL_LOCK_DATA_COOKIE)
  }

  /// No handle uses them any more, since each retains this.
  deinit {
    curl_share_cleanup(plain)
    curl_share_cleanup(withCookies)
    for kind in 0..<Self.kinds { pthread_mutex_destroy(mutexes + kind) }
    mutexes.deallocate()
  }

  private static func mutex(of data: curl_lock_data, _ mutexes: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<pthread_mutex_t>
  {
    mutexes!.assumingMemoryBound(to: pthread_mutex_t.self) + Int(data.rawValue)
  }

  /// Makes `easy` use one of them.
  func attach(_ easy: UnsafeMutableRawPointer, cookies: Bool) {
    curl_set_pointer(easy, CURLOPT_SHARE, cookies ? withCookies : plain)
  }

  func clearCookies() {
    withJar { curl_set_text($0, CURLOPT_COOKIELIST, "ALL") }
  }

  /// Removes the cookies of each domain that has more than a browser would keep, and all if there are still too many.
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

  /// The domain is the first field of Netscape's cookie file format.
  private static func domain(of cookie: UnsafePointer<CChar>) -> String {
    String(decoding: UnsafeRawBufferPointer(start: cookie, count: strcspn(cookie, "\t")), as: UTF8.self)
  }

  private func withJar(_ body: (UnsafeMutableRawPointer) -> Void) {
    guard let easy = curl_easy_init() else { fatalError("libcurl cannot create a handle: out of memory") }
    attach(easy, cookies: true)
    body(easy)
    curl_easy_cleanup(easy)
  }
}
