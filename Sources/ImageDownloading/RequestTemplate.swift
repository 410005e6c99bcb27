import CCurl
import Glibc
import ImagePrimitives

/// What the requests of one job have in common, set on a handle once and kept until another job's request uses the handle.
final class RequestTemplate {
  /// libcurl reads from a socket in pieces of this size, at most.
  private static let bufferBytes = 64 << 10

  private let options: DownloadOptions
  private let isOwnOrigin: Bool
  private var headers: UnsafeMutablePointer<curl_slist>?

  /// With `isOwnOrigin` false it leaves out the job's own headers, which no other origin may see.
  init(_ options: DownloadOptions, isOwnOrigin: Bool) {
    self.options = options
    self.isOwnOrigin = isOwnOrigin
    let own = isOwnOrigin ? options.headers : []
    for (name, value) in own { append(name, value) }
    for (name, value) in [("Accept", options.accept), ("User-Agent", options.userAgent)]
    where !own.contains(where: { $0.name.lowercased() == name.lowercased() }) {
      append(name, value)
    }
  }

  deinit { curl_slist_free_all(headers) }

  func fits(_ options: DownloadOptions, isOwnOrigin: Bool) -> Bool {
    self.options === options && self.isOwnOrigin == isOwnOrigin
  }

  /// Sets all options of a handle anew but the URL.
  func apply(to transfer: Transfer) {
    let easy = transfer.easy
    // Keeps what the handle shares.
    curl_easy_reset(easy)
    curl_set_list(easy, CURLOPT_HTTPHEADER, headers)
    // "identity" asks for the plain body, and has libcurl decode one that comes coded nevertheless.
    curl_set_text(easy, CURLOPT_ACCEPT_ENCODING, "identity")
    curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(options.connectTimeout.wholeMilliseconds)))
    curl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https")
    // Else libcurl takes a proxy from the environment.
    curl_set_text(easy, CURLOPT_PROXY, "")
    curl_set_long(easy, CURLOPT_NETRC, 0)
    // The URL is normalised, and what is its identity is what is sent.
    curl_set_long(easy, CURLOPT_PATH_AS_IS, 1)
    curl_set_long(easy, CURLOPT_NOSIGNAL, 1)
    curl_set_long(easy, CURLOPT_QUICK_EXIT, 1)
    curl_set_long(easy, CURLOPT_BUFFERSIZE, Self.bufferBytes)
    curl_set_pointer(easy, CURLOPT_ERRORBUFFER, transfer.errorText)
    setCallbacks(easy, Unmanaged.passUnretained(transfer).toOpaque())
  }

  /// libcurl drops a header whose value is empty, unless it ends in a semicolon instead of a colon.
  private func append(_ name: String, _ value: String) {
    guard let list = curl_slist_append(headers, value.isEmpty ? "\(name);" : "\(name): \(value)") else {
      fatalError("libcurl could not keep a header: out of memory")
    }
    headers = list
  }

  private func setCallbacks(_ easy: UnsafeMutableRawPointer, _ context: UnsafeMutableRawPointer) {
    curl_set_pointer(easy, CURLOPT_PRIVATE, context)
    curl_set_body_callback(
      easy,
      { bytes, one, count, context in
        let bytes = UnsafeRawBufferPointer(start: bytes, count: one * count)
        return Transfer.of(context).receive(bytes) ? bytes.count : 0
      },
      context
    )
    curl_set_header_callback(
      easy,
      { _, one, count, context in
        Transfer.of(context).noteHeader()
        return one * count
      },
      context
    )
    curl_set_open_socket_callback(
      easy,
      { context, _, address in
        Transfer.of(context).noteOpenedSocket()
        guard let address = address?.pointee else { return -1 }
        return socket(address.family, address.socktype | Int32(SOCK_CLOEXEC.rawValue), address.protocol)
      },
      context
    )
    curl_set_prerequest_callback(
      easy,
      { context, _, _, _, _ in
        Transfer.of(context).noteConnected()
        return CURL_PREREQFUNC_OK
      },
      context
    )
  }
}

extension Transfer {
  /// The transfer behind the pointer that libcurl keeps.
  static func of(_ context: UnsafeMutableRawPointer?) -> Transfer {
    Unmanaged<Transfer>.fromOpaque(context!).takeUnretainedValue()
  }
}
