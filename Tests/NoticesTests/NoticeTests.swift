import Base
import Foundation
import ImageDownloading
import TestOrigin
import TestSupport
import Testing
@testable import Notices
@testable import Reports

@Suite struct NoticeTests {
  private static let key = Notice.signingKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")

  /// A failed run, with `url` and `message` from outside.
  private func report(url: String = "http://img.test/a.jpg", message: String = "404", job: String = "shop") -> FinishedReport {
    var report = FinishedReport()
    report.job.name = job
    report.totals.failed = 30
    report.standings.counting = 30
    report.failures = (0..<30).map { _ in
      var record = FailureRecord()
      (record.url, record.failure) = (url, ImageFailure(.httpStatus, message: message))
      return record
    }
    report.verdict.reasons = ["30 of 30 URLs are bad (limit 0)"]
    return report
  }

  private func object(_ tree: JSONTree) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(tree.line.utf8)) as? [String: Any])
  }

  // MARK: Signatures

  @Test func `a signature is that of the specification's example`() {
    let headers = WebhookSignature(id: "msg_p5jXN8AQM9LWM0D4loKWxJek", key: Self.key)
      .headers(#"{"test": 2432232314}"#, at: Timestamp(milliseconds: 1_614_265_330_500))
    #expect(
      headers == [
        "webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp: 1614265330",
        "webhook-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
      ]
    )
  }

  @Test(arguments: ["whsec_", "whsec_c2VjcmV", "whsec_c2Vj!mV0", "whsec_c2VjcmV0====", "whsec_ c2VjcmV0"])
  func `a secret with an invalid encoding is none`(secret: String) {
    #expect(Notice.signingKey(secret) == nil)
    #expect(Notice.signingKey(String(secret.dropFirst())) == Array(secret.utf8.dropFirst()))
  }

  // MARK: Texts from outside

  /// Texts that would be markup, mentions, links, headers or more than a target takes.
  private static let hostile = [
    "<!channel> <https://evil.test|here> & `*_~", "[link](https://evil.test) **bold** <at>all</at> \\",
    "a\r\nBcc: x@evil.test\r\n\r\nbody",
    "\u{202E}gpj.exe\u{0}\u{1B}[31m", "\n.\r\n.\r\nQUIT", String(repeating: "\u{1F4A9}\\\"&", count: 20_000),
    "http://me:hunter2@img.test/a.jpg", "=?utf-8?q?x?=",
  ]

  @Test(arguments: hostile.indices) func `text from outside is only text for each target, and short`(index: Int) throws {
    let text = Self.hostile[index]
    let report = report(url: maskingCredentials(text), message: text, job: maskingCredentials(text))
    let notice = NoticeText(report, link: try BaseURL("http://me:hunter2@ci.test/1"))
    let slack = try object(notice.slack)
    let sent = try #require(slack["text"] as? String)
    #expect(!sent.contains("<") && !sent.contains(">") && sent.count < 40_000 && slack["unfurl_media"] as? Bool == false)
    #expect(sent.replacing(#/&(amp|lt|gt);/#, with: "").contains("&") == false)
    #expect(
      sent.split(separator: "\n").count == 13 && sent.contains("… 20 more bad URLs") && sent.hasSuffix("http://***@ci.test/1")
    )
    let teams = notice.teams.line
    #expect(teams.utf8.count < 28_000 && !teams.contains("\"TextBlock\""), "\(teams.utf8.count)")
    let card = try #require(((try object(notice.teams)["attachments"] as? [[String: Any]])?.first?["content"]) as? [String: Any])
    #expect((card["body"] as? [[String: Any]])?.allSatisfy { $0["type"] as? String == "RichTextBlock" } == true)
    #expect(((card["actions"] as? [[String: Any]])?.first)?["url"] as? String == "http://***@ci.test/1")
    let webhook = try object(NoticeText.webhook(report, link: nil))
    #expect((webhook["failures"] as? [Any])?.count == 10 && webhook["failures_omitted"] as? Int == 20)
    let mail = Mail(server: "smtp://h", from: "a@b.test", to: ["c@d.test"], user: nil, password: nil)
    let headers = mail.headers(notice.title, id: "1", at: .now)
    #expect(headers.allSatisfy { !$0.replacing("\r\n ", with: " ").utf8.contains { [10, 13].contains($0) } })
    for whole in [sent, teams, NoticeText.webhook(report, link: nil).line, notice.plain] {
      #expect(
        !whole.contains("hunter2") && !whole.unicodeScalars.contains("\u{202E}") && !whole.unicodeScalars.contains("\u{1B}")
      )
    }
  }

  @Test func `a subject that isn't plain is encoded in words of at most 75 characters, which another parser reads`() async throws
  {
    for subject in ["bücher " + String(repeating: "größe 💩 ", count: 20), "=?utf-8?q?x?=", "plain"] {
      let encoded = Mail.encoded(subject)
      #expect(encoded.components(separatedBy: "\r\n ").allSatisfy { $0.count <= 75 })
      let script = "import sys, email.header as h; sys.stdout.write(str(h.make_header(h.decode_header(sys.argv[1]))))"
      let result = try await Command("/usr/bin/python3", ["-c", script, encoded], environment: ["PYTHONIOENCODING": "utf-8"])
        .wait()
      #expect(result.outputText == subject, "\(result.errorText)")
    }
  }

  // MARK: Receivers

  struct Receiver: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let behaviours: [Behaviour]
    var requests = 1
    var reason: String?
  }

  private static let receivers = [
    Receiver(testDescription: "accepts", behaviours: [.status(202)]),
    Receiver(testDescription: "fails once", behaviours: [.status(500), .status(200)], requests: 2),
    Receiver(testDescription: "breaks off once", behaviours: [.reset, .status(200)], requests: 2),
    Receiver(testDescription: "hangs twice", behaviours: [.stall, .stall, .status(204)], requests: 3),
    Receiver(testDescription: "hangs after its head", behaviours: [.stall(afterBytes: 1, declared: 9)]),
    Receiver(testDescription: "always hangs", behaviours: [.stall], requests: 3, reason: "timed out"),
    Receiver(testDescription: "always fails", behaviours: [.status(503)], requests: 3, reason: "HTTP 503, in each of 3 attempts"),
    Receiver(testDescription: "redirects", behaviours: [.redirect(to: "/other")], reason: "HTTP 302: it redirects"),
    Receiver(testDescription: "is gone", behaviours: [.status(404, body: Array("s3cret".utf8))], reason: "HTTP 404"),
    Receiver(
      testDescription: "limits the rate",
      behaviours: [.status(429, headers: ["Retry-After": "1"]), .status(200)],
      requests: 2
    ),
    Receiver(
      testDescription: "is closed for long",
      behaviours: [.status(429, headers: ["Retry-After": "3600"])],
      reason: "HTTP 429; the receiver asks to wait 1 h 0 min"
    ),
  ]

  @Test(arguments: receivers) func `a receiver gets one message, in at most three attempts`(receiver: Receiver) throws {
    let origin = try Origin(["/s3cret": .sequence(receiver.behaviours)])
    let url = try BaseURL(origin.url("/s3cret"))
    let notice = Notice(name: "hook", target: .webhook(url, key: Self.key), occasion: .always, link: nil)
    var delivery = NoticeDelivery(notice, report(), DownloadOptions.Connection())
    (delivery.timeout, delivery.backoff) = (.milliseconds(500), .zero)
    let reason = delivery.run()
    #expect((reason == nil) == (receiver.reason == nil) && reason?.contains(receiver.reason ?? "") ?? true, "\(reason ?? "sent")")
    #expect(reason.map { !$0.contains("s3cret") && !$0.contains("127.0.0.1") } ?? true, "\(reason ?? "")")
    let requests = origin.requests
    #expect(requests.count == receiver.requests && requests.allSatisfy { $0.method == "POST" && $0.path == "/s3cret" })
    #expect(Set(requests.map { $0.headers["webhook-id"] }).count == 1 && Set(requests.map(\.body)).count == 1)
  }

  @Test func `a receiver that can't be reached is named without its URL`() throws {
    let port = RefusedPort()
    let notice = Notice(name: "hook", target: .slack(try BaseURL(port.url("/s3cret"))), occasion: .always, link: nil)
    var delivery = NoticeDelivery(notice, report(), DownloadOptions.Connection())
    delivery.backoff = .zero
    let reason = delivery.run() ?? ""
    #expect(reason.contains("connect") && reason.contains("3 attempts") && !reason.contains("s3cret"), "\(reason)")
  }
}
