import Foundation
import TestOrigin
import TestSupport
import Testing

/// Advice on how good images are delivered.
@Suite struct LintCommandTests {
  private let origin = makeImageOrigin()

  /// A page whose images are delivered well and badly.
  private func makeSite() throws -> Origin {
    let headers: HeaderFields = ["Cache-Control": "max-age=31536000", "ETag": "\"1\""]
    let good = #"<img src=/good.jpg width=32 height=24 srcset="/good.jpg 32w, /wrong.jpg 64w" sizes=50vw>"#
    origin.set("/", .text("<!doctype html><title>Shop</title>\n\(good)\n<img src=/plain.jpg>\n<img src=/moved.jpg>"))
    origin.set("/good.jpg", .jpeg(1, headers: headers))
    origin.set("/wrong.jpg", .jpeg(2, headers: headers))
    origin.set("/plain.jpg", .jpeg(3))
    origin.set("/moved.jpg", .redirect(to: "/good.jpg"))
    return origin
  }

  @Test func `check --lint lists findings by the bytes that they waste`() async throws {
    let origin = try makeSite()
    let job = JobFolder("")
    let result = try await job.prewarm("check", origin.url("/"), "--lint", "--set", "lint.insecure=off", "-o", "report.html")
    #expect(result.status == 0, "\(result.errorText)")
    expectGolden(result.outputText.timeless.replacing(":\(origin.port)", with: ":PORT"))
    let page = job.folder.text("report.html")
    #expect(page.contains("Worth fixing first") && page.contains("srcset says 64w, but the image is 32 pixels wide"))
  }

  @Test func `rows name the rules, and the element, attribute and pages of an image`() async throws {
    let origin = try makeSite()
    let job = JobFolder("")
    _ = try await job.prewarm("check", origin.url("/"), "--lint", "-o", "rows.jsonl")
    let text = job.folder.text("rows.jsonl")
    let row = try #require(text.split(separator: "\n").first { $0.contains("/wrong.jpg") })
    #expect(row.contains(#""element":"img","attribute":"srcset","pages":1,"lint":["insecure","markup"]"#), "\(row)")
  }

  @Test func `a rule that fails, or a limit that is exceeded, exits with 2`() async throws {
    let origin = try makeSite()
    for (options, status) in [
      (["--set", "lint.no-validator=fail"], 2), (["--fail-on", "lint={no-validator: 0}"], 2),
      (["--fail-on", "lint={no-validator: 1}"], 0), (["--set", "lint.all=fail", "--set", "lint.insecure=off"], 2),
    ] {
      let result = try await JobFolder("").start(["check", origin.url("/")] + options).wait()
      #expect(result.status == status, "\(options): \(result.outputText)\(result.errorText)")
    }
    let off = try await JobFolder("").prewarm("check \(origin.url("/")) --set lint.metadata=off --fail-on", "lint={metadata: 0}")
    #expect(off.status == 3 && off.errorText.contains("lint.metadata is off"), "\(off.errorText)")
  }

  @Test func `cached images are counted as not judged, and a rule about responses can't fail on them`() async throws {
    let origin = try makeSite()
    let job = JobFolder(urls: [origin.url("/plain.jpg")], keys: "lint: {no-validator: warn}")
    #expect(try await job.runJob().result.outputText.contains("no-validator  1 URL"))
    let again = try await job.runJob()
    #expect(again.status == 0 && again.result.outputText.contains("1 image not judged"), "\(again.result.outputText)")
    let failing = try await job.prewarm("run job.yaml --set lint.no-validator=fail")
    #expect(failing.status == 3 && failing.errorText.contains("cache.mode: refresh"), "\(failing.errorText)")
    let refreshed = try await job.runJob("--set lint.no-validator=fail --set cache.mode=refresh")
    #expect(refreshed.status == 2)
  }

  @Test func `a redirect is found in each run, also before a 304`() async throws {
    let origin = try makeSite()
    let headers: HeaderFields = ["ETag": "\"1\""]
    origin.set(
      "/good.jpg",
      .computed { request in
        request.headers["If-None-Match"] == nil
          ? .jpeg(1, headers: headers) : .status(304, headers: headers)
      }
    )
    let job = JobFolder(urls: [origin.url("/moved.jpg")], keys: "cache: {mode: refresh}\nlint: {redirect: fail}")
    #expect(try await job.runJob().status == 2)
    let again = try await job.runJob()
    #expect(again.status == 2 && again.totals["revalidated"] == 1)
  }

  @Test func `a fresh immutable image is requested to judge its delivery`() async throws {
    let headers: HeaderFields = ["Cache-Control": "max-age=31536000, immutable", "ETag": "\"1\""]
    origin.set("/1.jpg", .jpeg(1, headers: headers))
    let job = JobFolder(urls: [origin.url("/1.jpg")], keys: "cache: {mode: refresh, freshness: http}\nlint: {redirect: fail}")
    for count in 1...2 {
      #expect(try await job.runJob().status == 0)
      #expect(origin.count(of: "/1.jpg") == count)
    }
  }

  @Test func `a repeated URL counts each time, whether its request is shared or not`() async throws {
    let origin = try makeSite()
    let job = JobFolder(urls: Array(repeating: origin.url("/good.jpg"), count: 3), keys: "lint: {insecure: warn}")
    for _ in 1...2 { #expect(try await job.runJob().result.outputText.contains("insecure  3 URLs")) }
  }

  @Test func `a rule that can't judge all images can't fail`() async throws {
    let origin = try makeSite()
    for (keys, reason) in [
      ("request: {method: head}\ncache: {mode: refresh}", "method: head"), ("verify: {decode: none}", "decode: none"),
      ("transform: {resize: {width: 8}}", "transformed"),
    ] {
      let job = JobFolder(urls: [origin.url("/good.jpg")], keys: "\(keys)\nlint: {metadata: fail}")
      let result = try await job.prewarm("run job.yaml")
      #expect(result.status == 3 && result.errorText.contains(reason), "\(result.errorText)")
    }
  }
}
