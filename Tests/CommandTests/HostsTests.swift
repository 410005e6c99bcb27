import Foundation
import TestOrigin
import TestSupport
import Testing

/// `hosts`: settings of some hosts of a job.
@Suite struct HostsTests {
  private let origin = makeImageOrigin(hosts: 2)
  private let environment: [String: String?] = ["TOKEN": "t0ken", "PASSWORD": "passw0rd"]

  /// Of a host of the origin.
  private func name(_ host: Int) -> String { "\"127.0.0.1:\(origin.ports[host])\"" }

  /// The requests since `first`: host, path, and the fields that are sent to some hosts only.
  private func said(from first: Int = 0) -> [String] {
    origin.requests[first...].map { request in
      let fields = request.headers.fields.map { ($0.name.lowercased(), $0.value) }.filter { name, _ in
        name.hasPrefix("x-") || name == "authorization"
      }
      let host = origin.ports.firstIndex(of: request.port) ?? -1
      return (["\(host)\(request.path)"] + fields.map { "\($0)=\($1)" }.sorted()).joined(separator: " ")
    }.sorted()
  }

  @Test func `headers and credentials go to the named host only, with lists, too, and never after a redirect`() async throws {
    origin.set("/index.xml", .text("<sitemapindex><sitemap><loc>\(origin.url("/map.xml"))</loc></sitemap></sitemapindex>"))
    let images = [origin.url("/images/1.jpg"), origin.url("/away.jpg"), origin.url("/images/2.jpg", host: 1)]
    origin.set("/map.xml", .text(sitemapText(images)))
    origin.set("/away.jpg", .redirect(to: origin.url("/images/3.jpg", host: 1)))
    let job = JobFolder(
      """
      manifests: [{url: "\(origin.url("/index.xml", host: 1))"}]
      request: {headers: {X-Job: all, X-Both: job}}
      hosts:
        \(name(0)): {headers: {X-Token: "${TOKEN}", x-both: host}, auth: {username: bot, password-env: PASSWORD}}
        "127.0.0.1": {severity: warn}
      report: [{text: "-"}, {json: report.json}, {jsonl: rows.jsonl}, {html: report.html}]
      """
    )
    func run(_ line: String, status: Int = 0) async throws -> String {
      let result = try await job.prewarm(line, environment: environment)
      let text = result.outputText + result.errorText
      #expect(result.status == status, "\(text)")
      return text
    }
    let basic = "Basic \(Data("bot:passw0rd".utf8).base64EncodedString())"
    let own = "authorization=\(basic) x-both=host x-job=all x-token=t0ken"
    var texts = [try await run("run job.yaml --verbose")]
    // The job's own headers aren't for a list that another host names.
    let requests = [
      "0/away.jpg \(own)", "0/images/1.jpg \(own)", "0/map.xml authorization=\(basic) x-both=host x-token=t0ken",
      "1/images/2.jpg x-both=job x-job=all", "1/images/3.jpg", "1/index.xml x-both=job x-job=all",
    ]
    #expect(said() == requests)
    // Images are found again, but not without the credentials.
    #expect(try await run("run job.yaml").contains("3 hits"))
    var before = origin.requests.count
    texts.append(try await run("run job.yaml --set hosts={}"))
    #expect(origin.requests[before...].filter { $0.path.hasSuffix(".jpg") && $0.port == origin.ports[0] }.count == 2)
    before = origin.requests.count
    texts.append(try await run("check job.yaml"))
    #expect(said(from: before) == requests)
    let explained = try await run("explain \(images[0]) --job job.yaml")
    #expect(explained.contains("-H 'X-Token: ***'") || explained.contains("-H 'x-token: ***'"), "\(explained)")
    #expect(explained.contains("--user 'bot:***'"), "\(explained)")
    texts += [explained, try await run("explain \(images[2]) --job job.yaml"), try await run("validate job.yaml")]
    #expect(!texts[4].contains("--user") && !texts[4].lowercased().contains("x-token"))
    texts += ["report.json", "rows.jsonl", "report.html"].map { String(decoding: job.folder.read($0) ?? [], as: UTF8.self) }
    for text in texts {
      #expect(text.count > 10)
      for secret in ["t0ken", "passw0rd", basic] { #expect(!text.contains(secret), "\(text)") }
    }
  }

  @Test func `variants replace the headers of a host, also of a wildcard, and report the same variants`() async throws {
    let job = JobFolder(
      urls: [origin.url("/images/1.jpg"), "http://a.b.example.com/images/2.jpg", "http://b.example.com/images/3.jpg"],
      keys: """
        request:
          connect-to: [":80:127.0.0.1:\(origin.port)"]
          headers: {X-A: job}
          variants: {one: {X-A: variant}, two: {}}
        hosts:
          "*.example.com": {headers: {X-A: host, X-B: host}}
          B.example.com: {}
        """
    )
    let run = try await job.runJob()
    #expect(run.status == 0 && run.totals["downloaded"] == 6, "\(run.result.errorText)")
    #expect(
      said() == [
        "0/images/1.jpg x-a=job", "0/images/1.jpg x-a=variant", "0/images/2.jpg x-a=host x-b=host",
        "0/images/2.jpg x-a=variant x-b=host", "0/images/3.jpg x-a=job", "0/images/3.jpg x-a=variant",
      ]
    )
    let rows = String(decoding: job.folder.read("rows.jsonl") ?? [], as: UTF8.self)
    #expect(rows.components(separatedBy: #""variant":"one""#).count == 4)
    #expect(rows.components(separatedBy: #""variant":"two""#).count == 4)
    #expect(try await job.runJob().totals["hit_disk"] == 6)
  }

  @Test func `failures of a host with severity warn are reported but don't count`() async throws {
    let lost = (0..<2).map { origin.url("/lost\($0).jpg", host: 1) }
    let job = JobFolder(
      urls: imageURLs(origin, 0..<2) + lost,
      keys: "hosts: {\(name(1)): {severity: warn}}\nreport: [{text: '-'}, {junit: junit.xml}, {github: github.txt}]"
    )
    let run = try await job.runJob()
    #expect(run.status == 0 && run.totals["failed"] == 2)
    #expect(run.result.outputText.contains("2 of 4 URLs are bad, 2 warned"), "\(run.result.outputText)")
    let standings = run.section("standings")
    #expect(standings["counting"] as? Int == 0 && standings["warned"] as? Int == 2)
    let text = { (name: String) in String(decoding: job.folder.read(name) ?? [], as: UTF8.self) }
    #expect(text("rows.jsonl").components(separatedBy: #""warned":true"#).count == 3)
    #expect(text("junit.xml").contains(#"failures="0" errors="0" skipped="2""#))
    #expect(text("junit.xml").contains("warned: failures of its host don't count"))
    #expect(text("github.txt").components(separatedBy: "::warning").count == 3, "\(text("github.txt"))")
    // Read back, as they are and merged, and with a failure that counts.
    for line in ["show rows.jsonl", "show report.json", "merge report.json"] {
      let shown = try await job.prewarm("report \(line)")
      #expect(shown.status == 0 && shown.outputText.contains("2 of 4 URLs are bad, 2 warned"), "\(line): \(shown.outputText)")
    }
    job.write(urls: imageURLs(origin, 0..<2) + [origin.url("/lost.jpg")] + lost)
    let failed = try await job.runJob("--set blacklist.retry=true")
    #expect(failed.status == 2 && failed.section("standings")["counting"] as? Int == 1)
    #expect(failed.result.outputText.contains("3 of 5 URLs are bad, 2 warned"), "\(failed.result.outputText)")
    #expect(try await job.prewarm("report merge report.json").status == 2)
  }

  @Test func `a host has its own number of transfers`() async throws {
    let job = JobFolder(
      urls: (0..<20).map { origin.url("/images/\($0).jpg", host: $0 % 2) },
      keys: "prefetch: {per-host: 5}\nhosts: {\(name(0)): {per-host: 2}}"
    )
    let gate = origin.holdAll()
    let command = try job.startJob(isHeld: true)
    try await gate.waitForWaiting(7)
    gate.open()
    #expect(try job.finishedRun(try await command.wait()).totals["downloaded"] == 20)
    #expect(origin.peakInFlight(host: 0) == 2 && origin.peakInFlight(host: 1) == 5)
  }
}
