import Base
import CCurl
import ImageDownloading
import Platform
import Reports

/// Sends one notice, in several attempts if it has to. Each has a handle of libcurl of its own, so that none reuses a broken connection.
struct NoticeDelivery {
  private static let attempts = 3
  /// A receiver that wants more is given up: the run shouldn't seem to hang.
  private static let longestWait = Duration.seconds(30)

  private enum Outcome {
    case sent
    case failed(String)
    /// Another attempt may succeed, if the receiver names a time not before it.
    case transient(String, wait: Duration)
  }

  /// Of an attempt.
  var timeout = Duration.seconds(10)
  /// The wait before the second attempt; it doubles.
  var backoff = Duration.seconds(1)
  private let notice: Notice
  private let connection: DownloadOptions.Connection
  private let agent: String
  private let text: NoticeText
  private let body: String
  /// The same for all attempts, so that receivers recognise repeated messages.
  private let id = "prewarm_" + (0..<2).map { _ in hexadecimal(UInt64.random(in: .min ... .max), digits: 16) }.joined()

  init(_ notice: Notice, _ report: FinishedReport, _ connection: DownloadOptions.Connection) {
    (self.notice, self.connection, agent) = (notice, connection, "prewarm/\(report.version)")
    text = NoticeText(report, link: notice.link)
    body =
      switch notice.target {
      case .webhook: NoticeText.webhook(report, link: notice.link).line
      case .slack: text.slack.line
      case .teams: text.teams.line
      case .email: text.plain
      }
  }

  /// Returns the reason why it couldn't be sent; nil if it was.
  func run() -> String? {
    var backoff = backoff
    for attempt in 1... {
      switch send() {
      case .sent: return nil
      case .failed(let reason): return reason
      case .transient(let reason, let wait):
        guard attempt < Self.attempts else { return "\(reason), in each of \(attempt) attempts" }
        guard wait <= Self.longestWait else { return "\(reason); the receiver asks to wait \(elapsed(wait))" }
        _ = poll(nil, 0, Int32(clamping: max(wait, backoff).wholeMilliseconds))
        backoff *= 2
      }
    }
    return nil
  }

  private func send() -> Outcome {
    guard let easy = curl_easy_init() else { return .failed("libcurl cannot create a handle: out of memory") }
    defer { curl_easy_cleanup(easy) }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(CURL_ERROR_SIZE)) { errorText in
      errorText[0] = 0
      curl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText.baseAddress)
      curl_set_long(easy, CURLOPT_TIMEOUT_MS, Int(timeout.wholeMilliseconds))
      curl_set_long(easy, CURLOPT_NOSIGNAL, 1)
      curl_set_long(easy, CURLOPT_QUICK_EXIT, 1)
      curl_set_text(easy, CURLOPT_USERAGENT, agent)
      // A response isn't printed.
      curl_set_body_callback(easy, { _, one, count, _ in one * count }, nil)
      connection.apply(to: easy)
      let now = Timestamp.now
      switch notice.target {
      case .webhook(let url, let key):
        return post(easy, url, WebhookSignature(id: id, key: key).headers(body, at: now), errorText)
      case .slack(let url), .teams(let url): return post(easy, url, [], errorText)
      case .email(let mail): return self.mail(easy, mail, now, errorText)
      }
    }
  }

  private func post(
    _ easy: UnsafeMutableRawPointer,
    _ url: BaseURL,
    _ headers: [String],
    _ errorText: UnsafeMutableBufferPointer<CChar>
  ) -> Outcome {
    curl_set_text(easy, CURLOPT_URL, String(decoding: url.bytes, as: UTF8.self))
    curl_set_long(easy, CURLOPT_PATH_AS_IS, 1)
    curl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https")
    curl_set_text(easy, CURLOPT_COPYPOSTFIELDS, body)
    let list = (["Content-Type: application/json"] + headers).reduce(nil) { curl_slist_append($0, $1) }
    defer { curl_slist_free_all(list) }
    curl_set_list(easy, CURLOPT_HTTPHEADER, list)
    let code = curl_easy_perform(easy)
    let status = Self.status(easy)
    if code != CURLE_OK && status / 100 != 2 { return failure(code, errorText) }
    switch status {
    case 200..<300: return .sent
    case 300..<400: return .failed("HTTP \(status): it redirects, which prewarm doesn't follow; set the final URL")
    case 429, 500..<600:
      var seconds = curl_off_t(0)
      curl_get_offset(easy, CURLINFO_RETRY_AFTER, &seconds)
      return .transient("HTTP \(status)", wait: .seconds(seconds))
    default: return .failed("HTTP \(status)")
    }
  }

  private func mail(
    _ easy: UnsafeMutableRawPointer,
    _ mail: Mail,
    _ now: Timestamp,
    _ errorText: UnsafeMutableBufferPointer<CChar>
  ) -> Outcome {
    mail.apply(to: easy)
    let recipients = mail.to.reduce(nil) { curl_slist_append($0, $1) }
    let headers = mail.headers(text.title, id: id, at: now).reduce(nil) { curl_slist_append($0, $1) }
    // libcurl encodes the text, which may have long lines and lines of a dot.
    let mime = curl_mime_init(easy)
    defer {
      curl_mime_free(mime)
      for list in [recipients, headers] { curl_slist_free_all(list) }
    }
    let part = curl_mime_addpart(mime)
    curl_mime_data(part, body, body.utf8.count)
    curl_mime_type(part, "text/plain; charset=utf-8")
    curl_mime_encoder(part, "quoted-printable")
    curl_set_list(easy, CURLOPT_MAIL_RCPT, recipients)
    curl_set_list(easy, CURLOPT_HTTPHEADER, headers)
    curl_set_pointer(easy, CURLOPT_MIMEPOST, UnsafeMutableRawPointer(mime))
    let code = curl_easy_perform(easy)
    if code == CURLE_OK { return .sent }
    let status = Self.status(easy)
    let outcome = failure(code, errorText)
    // A server's refusal is permanent from 500 on (RFC 5321, section 4.2.1), and others are not, whatever libcurl makes of them.
    guard case .failed(let reason) = outcome, (400..<500).contains(status) else {
      if case .transient(let reason, _) = outcome, status >= 500 { return .failed(reason) }
      return outcome
    }
    return .transient(reason, wait: .zero)
  }

  private static func status(_ easy: UnsafeMutableRawPointer) -> Int {
    var status = 0
    curl_get_long(easy, CURLINFO_RESPONSE_CODE, &status)
    return status
  }

  private func failure(_ code: CURLcode, _ errorText: UnsafeMutableBufferPointer<CChar>) -> Outcome {
    let detail = String(cString: errorText.baseAddress!)
    let reason = hidingSecrets(detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail)
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT, CURLE_OPERATION_TIMEDOUT,
      CURLE_GOT_NOTHING,
      CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE, CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_SSL_CONNECT_ERROR:
      return .transient(reason, wait: .zero)
    default: return .failed(reason)
    }
  }

  /// A sentence of libcurl without what only the receiver may know; the URL of a webhook is a secret as a whole.
  private func hidingSecrets(_ text: String) -> String {
    let secrets =
      switch notice.target {
      case .webhook(let url, _), .slack(let url), .teams(let url):
        [String(decoding: url.bytes, as: UTF8.self), String(decoding: url.bytes[url.parts.host], as: UTF8.self)]
      case .email(let mail): [mail.password, mail.user].compactMap(\.self)
      }
    let shown = secrets.reduce(maskingCredentials(text)) { $1.isEmpty ? $0 : $0.replacing($1, with: "***") }
    return shown.hasSuffix(".") ? String(shown.dropLast()) : shown
  }
}
