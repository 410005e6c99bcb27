import CCurl
import ImagePrimitives

/// What libcurl knows of a transfer beyond its result, read only where it is asked for.
extension Transfer {
  func details(redirects: Int) -> TransferDetails {
    TransferDetails(response: responseHead, metrics: metrics(redirects: redirects))
  }

  /// The status and all headers of the last answer; nil where none came.
  var responseHead: ResponseHead? {
    let status = status
    guard status > 0 else { return nil }
    if let modifiedHead { return modifiedHead }
    var head = ResponseHead(status: status)
    var last: UnsafeMutablePointer<curl_header>?
    while let header = curl_easy_nextheader(easy, UInt32(CURLH_HEADER), -1, last) {
      head.headers.append(HeaderField(String(cString: header.pointee.name), String(cString: header.pointee.value)))
      last = header
    }
    return head
  }

  private func metrics(redirects: Int) -> TransferMetrics {
    var metrics = TransferMetrics()
    let (nameLookup, connect) = (time(CURLINFO_NAMELOOKUP_TIME_T), time(CURLINFO_CONNECT_TIME_T))
    let handshake = time(CURLINFO_APPCONNECT_TIME_T)
    metrics.nameLookup = nameLookup
    metrics.connect = max(.zero, connect - nameLookup)
    metrics.tls = handshake > .zero ? handshake - connect : .zero
    metrics.firstByte = time(CURLINFO_STARTTRANSFER_TIME_T)
    metrics.total = time(CURLINFO_TOTAL_TIME_T)
    metrics.receivedBytes = receivedBytes
    metrics.redirects = redirects
    metrics.protocolName = protocolName
    metrics.reusedConnection = phase == .connected && number(CURLINFO_NUM_CONNECTS) == 0
    var address: UnsafeMutablePointer<CChar>?
    curl_get_text(easy, CURLINFO_PRIMARY_IP, &address)
    if let address, address.pointee != 0 {
      metrics.remoteAddress = String(cString: address)
      metrics.remotePort = number(CURLINFO_PRIMARY_PORT)
    }
    return metrics
  }

  private var protocolName: String? {
    switch number(CURLINFO_HTTP_VERSION) {
    case CURL_HTTP_VERSION_1_0: "HTTP/1.0"
    case CURL_HTTP_VERSION_1_1: "HTTP/1.1"
    case CURL_HTTP_VERSION_2_0: "HTTP/2"
    case CURL_HTTP_VERSION_3: "HTTP/3"
    default: nil
    }
  }

  private func number(_ info: CURLINFO) -> Int {
    var value = 0
    curl_get_long(easy, info, &value)
    return value
  }

  private func time(_ info: CURLINFO) -> Duration {
    var microseconds: curl_off_t = 0
    curl_get_offset(easy, info, &microseconds)
    return .microseconds(Int64(microseconds))
  }
}
