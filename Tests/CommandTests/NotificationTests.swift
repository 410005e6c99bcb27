import Base
import Foundation
import Glibc
import TestOrigin
import TestSupport
import Testing

/// `notify` of job files: what receivers get after a run, and what the command says if they don't.
@Suite struct NotificationTests {
  private let origin = makeImageOrigin()
  private let secret = "s3cret"

  private var image: String { origin.url("/images/1.jpg") }
  private var missing: String { origin.url("/gone.jpg") }

  private func job(_ urls: [String], notify: String, keys: String = "") -> JobFolder {
    JobFolder(urls: urls, keys: "report: [{text: '-'}, {json: last.json}]\nrequest: {retries: 0}\nnotify:\n\(notify)\(keys)")
  }

  // MARK: Occasions

  enum Outcome: String, CaseIterable {
    case good, bad, still, recovered, known, unwritable, interrupted, dryRun, check

    /// The occasions that it is one of.
    var occasions: [String] {
      switch self {
      case .good, .known: ["always"]
      case .bad, .unwritable: ["always", "changed", "failed"]
      case .still: ["always", "failed"]
      case .recovered: ["always", "changed"]
      case .interrupted, .dryRun, .check: []
      }
    }

    var status: Int {
      switch self {
      case .good, .recovered, .known, .dryRun: 0
      case .bad, .still, .check: 2
      case .unwritable: 1
      case .interrupted: 130
      }
    }
  }

  @Test(arguments: Outcome.allCases) func `each kind of notification is sent once, on its occasions`(outcome: Outcome)
    async throws
  {
    let (mail, receivers) = (MailServer(), try Origin(fallback: .status(202)))
    let items = ["failed", "changed", "always"].flatMap { occasion in
      ["webhook", "slack", "teams"].map { kind in
        let key = kind == "webhook" ? "url: '\(receivers.url("/\(kind)/\(occasion)"))'" : "url-env: \(kind)_\(occasion)"
        return "- {\(kind): {\(key)}, when: \(occasion)}\n"
      } + ["- {email: {server: '\(mail.url)', from: prewarm@a.test, to: [\(occasion)@b.test]}, when: \(occasion)}\n"]
    }
    var environment: [String: String?] = [:]
    for kind in ["slack", "teams"] {
      for occasion in ["failed", "changed", "always"] {
        environment["\(kind)_\(occasion)"] = receivers.url("/\(kind)/\(occasion)")
      }
    }
    let known = outcome == .known ? "fail-on: {baseline: last.jsonl, known: never}\n" : ""
    let job = job(outcome == .good ? [image] : [image, missing], notify: items.joined(), keys: "cache: {mode: bypass}\n\(known)")
    job.folder.write(#"{"url":"\#(missing)","outcome":"failed"}"# + "\n", to: "last.jsonl")
    if [.still, .recovered].contains(outcome) {
      job.writeJob("report: [{json: last.json}]\nrequest: {retries: 0}\ncache: {mode: bypass}", name: "earlier")
      #expect(try await job.prewarm("run earlier.yaml").status == 2)
    }
    if outcome == .recovered { origin.set("/gone.jpg", .jpeg()) }
    let gate = outcome == .interrupted ? origin.hold("/images/1.jpg") : nil
    let words: [Outcome: [String]] = [
      .dryRun: ["run", "job.yaml", "--dry-run"], .check: ["check", "job.yaml"],
      .unwritable: ["run", "job.yaml", "--report", "json=/dev/full"],
    ]
    let command = try job.start(words[outcome] ?? ["run", "job.yaml"], environment: outcome == .check ? [:] : environment)
    if outcome == .interrupted {
      try await origin.waitForRequests(1, of: "/images/1.jpg")
      command.send(SIGINT)
    }
    let result = try await command.wait()
    gate?.open()
    #expect(result.status == outcome.status, "\(result.errorText)")
    #expect(!result.errorText.contains("cannot send"), "\(result.errorText)")
    let paths = receivers.requests.map(\.path).sorted()
    #expect(paths == ["slack", "teams", "webhook"].flatMap { kind in outcome.occasions.map { "/\(kind)/\($0)" } })
    #expect(mail.messages.flatMap(\.to).sorted() == outcome.occasions.map { "RCPT TO:<\($0)@b.test>" })
  }

  // MARK: Messages

  @Test func `a webhook gets the report in brief, with a signature that another implementation computes`() async throws {
    let receiver = try Origin(fallback: .status(204))
    let job = job(
      [missing.replacing("http://", with: "http://me:\(secret)@"), image],
      notify: "- {webhook: {url: '\(receiver.url("/hook"))', secret-file: key}, link: 'https://ci.test/${BUILD}'}\n"
    )
    job.folder.write("whsec_czNjcmV0\n", to: "key")
    let result = try await job.prewarm("run job.yaml --report json=report.json", environment: ["BUILD": "17"])
    #expect(result.status == 2 && result.error.isEmpty, "\(result.errorText)")
    let request = try #require(receiver.requests.first)
    let (id, time) = (try #require(request.headers["webhook-id"]), try #require(request.headers["webhook-timestamp"]))
    let script =
      "import base64, hmac, sys; print('v1,' + base64.b64encode(hmac.digest(b's3cret', sys.stdin.buffer.read(), 'sha256')).decode())"
    let signed = Command.Input.bytes(Array("\(id).\(time).".utf8) + request.body)
    let expected = try await Command("/usr/bin/python3", ["-c", script], input: signed).wait().outputText
    #expect(request.headers["webhook-signature"] == expected.trimmingCharacters(in: .newlines))
    #expect(
      request.headers["content-type"] == "application/json"
        && request.headers.all("user-agent").first?.hasPrefix("prewarm/") == true
    )
    let sent = try #require(try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: any Sendable])
    let report = try job.json("report.json")
    for name in ["job", "exit_status", "verdict", "totals", "failures", "failures_omitted", "finished_at", "prewarm"] {
      #expect(sent[name] as? NSObject == report[name] as? NSObject && sent[name] != nil, "\(name)")
    }
    #expect(sent["schema"] as? String == "prewarm.notification/1" && sent["link"] as? String == "https://ci.test/17")
    #expect(!String(decoding: request.body, as: UTF8.self).contains("me:"))
  }

  @Test(arguments: ["starttls", "smtps"]) func `an email is sent with TLS and a password, and another parser reads it`(
    way: String
  ) async throws {
    let certificates = try await Certificates()
    let (mail, proxy) = (MailServer(certificates, isSecure: way == "smtps"), TestProxy())
    let job = JobFolder(
      urls: [origin.url("/gone.jpg?\(String(repeating: "ü", count: 120))")],
      keys: """
        report: [{text: '-'}]
        request: {retries: 0, proxy: 'http://127.0.0.1:\(proxy.port)', tls: {ca-file: '\(certificates.authority)'}}
        notify:
        - email: {server: '\(mail.url)', from: prewarm@a.test, to: [b@b.test, c@c.test], username: me, password-env: PASSWORD}
        """
    )
    let result = try await job.prewarm("run job.yaml", environment: ["PASSWORD": secret])
    #expect(result.status == 2 && result.error.isEmpty, "\(result.errorText)")
    let message = try #require(mail.messages.first)
    #expect(
      mail.messages.count == 1 && message.isEncrypted && message.credentials == "me:\(secret)" && message.greeting == "a.test"
    )
    #expect(message.from.hasPrefix("MAIL FROM:<prewarm@a.test>") && message.to == ["RCPT TO:<b@b.test>", "RCPT TO:<c@c.test>"])
    #expect(proxy.log.contains { $0.hasPrefix("CONNECT 127.0.0.1:") }, "\(proxy.log)")
    #expect(message.data.split(separator: "\r\n").allSatisfy { $0.utf8.count < 998 && $0.utf8.allSatisfy { $0 < 0x80 } })
    let script = """
      import email, email.policy, sys
      m = email.message_from_bytes(sys.stdin.buffer.read(), policy=email.policy.default)
      for name in ('From', 'To', 'Subject', 'Auto-Submitted'): print(m[name])
      print(m['Date'].datetime.year >= 2025, m['Message-ID'].endswith('@a.test>'), not m.defects)
      print(m.get_body().get_content())
      """
    let input = Command.Input.bytes(Array(message.data.utf8))
    let read = try await Command("/usr/bin/python3", ["-c", script], environment: ["PYTHONIOENCODING": "utf-8"], input: input)
      .wait()
    let lines = read.outputText.split(whereSeparator: \.isNewline).map(String.init)
    #expect(lines.count >= 7, "\(read.errorText)")
    #expect(
      lines.prefix(2) == ["prewarm@a.test", "b@b.test, c@c.test"]
        && lines.dropFirst(3).prefix(2) == ["auto-generated", "True True True"]
    )
    #expect(lines.count > 2 && lines[2].hasPrefix("prewarm test FAILED: 1 of 1 URL is bad (limit 0), "), "\(lines)")
    #expect(lines.last?.contains("üüü") == true && lines.last?.contains("404") == true, "\(lines)")
  }

  struct Refusal: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var replies: [String: [String]] = [:]
    var user = ""
    let messages: Int
    let reason: String?
  }

  private static let refusals = [
    Refusal(
      testDescription: "no STARTTLS for a password",
      user: ", username: me, password-env: PASSWORD",
      messages: 0,
      reason: "STARTTLS not supported\n"
    ),
    Refusal(testDescription: "an unknown recipient", replies: ["RCPT": ["550 no such user"]], messages: 0, reason: "550"),
    Refusal(testDescription: "a server that is busy once", replies: ["RCPT": ["451 later"]], messages: 1, reason: nil),
  ]

  @Test(arguments: refusals) func `a mail server's refusal is a warning, and a temporary one is tried again`(refusal: Refusal)
    async throws
  {
    let mail = MailServer(refusing: refusal.replies)
    let job = job(
      [image],
      notify: "- {email: {server: '\(mail.url)', from: a@a.test, to: [b@b.test]\(refusal.user)}, when: always}\n"
    )
    let result = try await job.prewarm("run job.yaml", environment: ["PASSWORD": secret])
    #expect(result.status == 0 && mail.messages.count == refusal.messages, "\(result.errorText)")
    let warning = refusal.reason.map {
      (result.errorText.contains($0), result.errorText.contains("test: cannot send notify[0].email: "))
    }
    #expect(warning.map { $0 == (true, true) } ?? result.error.isEmpty, "\(result.errorText)")
  }

  // MARK: Secrets

  @Test func `a notification that fails is a warning without secrets, and changes neither status nor reports`() async throws {
    let (refused, mail) = (RefusedPort(), MailServer())
    origin.set("/services/\(secret)", .status(403, body: Array("no token \(secret)".utf8)))
    let job = job(
      [image, missing],
      notify: """
        - slack: {url-env: SLACK}
        - teams: {url-file: teams}
        - webhook: {url-env: HOOK, secret-env: KEY}
        - email: {server: '\(mail.url)', from: a@a.test, to: [b@b.test], username: me, password-file: password}

        """
    )
    job.folder.write("\(refused.url("/\(secret)"))\n", to: "teams")
    job.folder.write("\(secret)\n", to: "password")
    let environment: [String: String?] = [
      "SLACK": origin.url("/services/\(secret)"), "KEY": "whsec_\(secret)AA",
      "HOOK": "http://me:\(secret)@\(secret).invalid/\(secret)",
    ]
    let forms = ["json", "jsonl", "csv", "junit", "markdown", "html", "github", "prometheus"]
    let reports = forms.flatMap { ["--report", "\($0)=out.\($0)"] }
    let run = try await job.start(["run", "job.yaml", "--verbose"] + reports, environment: environment).wait()
    #expect(run.status == 2, "\(run.errorText)")
    let warnings = run.errorText.split(separator: "\n").filter { $0.contains("cannot send") }
    #expect(warnings.count == 4 && warnings[0] == "prewarm: test: cannot send notify[0].slack: HTTP 403", "\(run.errorText)")
    var texts = [run.outputText, run.errorText] + forms.map { job.folder.text("out.\($0)") }
    for line in ["validate job.yaml", "explain \(missing) --job job.yaml", "run job.yaml --dry-run --verbose"] {
      let result = try await job.prewarm(line, environment: environment)
      #expect(result.status == 0, "\(line): \(result.errorText)")
      texts += [result.outputText, result.errorText]
    }
    #expect(texts.allSatisfy { !$0.contains(secret) && !$0.isEmpty || $0.isEmpty })
    #expect(try job.json("out.json")["exit_status"] as? Int == 2)
  }

  @Test(
    arguments: [
      ("- slack: {url-env: UNSET}", 3, "environment variable not set"), ("- slack: {url-env: EMPTY}", 3, "is empty"),
      ("- slack: {url-env: WORD}", 3, "isn't an absolute http or https URL"),
      ("- webhook: {url: 'http://h/', secret-env: KEY}", 3, "whsec_"),
      ("- slack: {url-env: 'https://h/s3cret'}", 3, "not the secret itself"),
      ("- slack: 'https://h/s3cret'", 3, "requires keys below it"),
      ("- 'https://h/s3cret'", 3, "write {slack: {url-env: SLACK_URL}}"),
      ("- slack: {url: 'https://h/s3cret'}", 3, "unknown key 'url'"),
      ("- {}", 3, "requires webhook, slack, teams or email"), ("- slack: {}", 3, "missing key 'url-env'; add url-env: SLACK_URL"),
      ("- slack: {url-env: WORD, url-file: f}", 3, "have the same purpose"),
      ("- {slack: {url-file: f}, teams: {url-file: f}}", 3, "make two"),
      ("- email: {server: 'smtp://me:s3cret@h', from: a@b, to: [a@b]}", 3, "requires a mail server such as"),
      ("- email: {server: 'smtp://h', from: a@b, to: [], username: me}", 3, "missing key 'password-env'"),
      ("- email: {server: 'smtp://h', from: a@b, to: []}", 3, "'to' has no addresses"),
      ("- slack: {url-file: none}", 1, "notify[0].slack.url-file: cannot read none: No such file"),
      ("- slack: {url-file: blank}", 1, "it is empty"), ("- slack: {url-file: lines}", 1, "it contains control characters"),
      ("- slack: {url-file: word}", 1, "it isn't an absolute http or https URL"),
    ]
  )
  func `a secret that can't be used ends the job before the first request`(item: String, status: Int, message: String)
    async throws
  {
    let job = job([image], notify: "\(item)\n")
    for (name, text) in ["blank": "\n", "lines": "http://h/s3cret\nx\n", "word": "s3cret\n"] { job.folder.write(text, to: name) }
    let environment: [String: String?] = ["UNSET": nil, "EMPTY": "", "WORD": "s3cret", "KEY": "whsec_s3cret!"]
    let result = try await job.prewarm("run job.yaml", environment: environment)
    #expect(result.status == status && result.errorText.contains(message), "\(result.errorText)")
    #expect(!result.errorText.contains(secret) && origin.requests.isEmpty, "\(result.errorText)")
    #expect(try await job.prewarm("check job.yaml", environment: environment).status == 0)
  }
}
