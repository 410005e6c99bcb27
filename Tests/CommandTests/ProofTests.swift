import Foundation
import TestOrigin
import TestSupport
import Testing

/// The rules for good images, and the method of requests.
@Suite struct ProofTests {
  private let origin: Origin

  init() throws {
    origin = try Origin()
    for name in ["photo.jpg", "animation.gif", "rgb.png"] {
      let type = ["jpg": "image/jpeg", "gif": "image/gif", "png": "image/png"][String(name.split(separator: ".").last ?? "")]
      origin.set("/\(name)", .ranged(Fixtures.bytes("images/good/\(name)") + [UInt8](repeating: 0, count: 300_000), type: type))
    }
    origin.set("/without-end.jpg", .body(Array(SampleImages.jpeg(1).dropLast(2)), type: "image/jpeg"))
  }

  private func job(_ names: [String], _ keys: String) -> JobFolder {
    JobFolder(urls: names.map { origin.url("/\($0)") }, keys: keys)
  }

  @Test func `a probe fetches the first bytes of each image and stores none`() async throws {
    let job = job(["photo.jpg", "rgb.png", "animation.gif"], "request: {method: probe}")
    let run = try await job.runJob()
    #expect(run.status == 0 && run.totals["checked"] == 3)
    #expect(run.rows.map(\.width).allSatisfy { $0 ?? 0 > 0 } && run.rows.allSatisfy { $0.bytes ?? 0 > 300_000 })
    #expect(run.section("bytes")["downloaded"] as? Int ?? .max <= 3 * 64 << 10)
    #expect(run.section("cache")["entries"] as? Int == 0)
    #expect(origin.requests.allSatisfy { $0.headers["Range"] == "bytes=0-65535" })
    #expect(try await job.runJob("--set", "verify.width.min=1000").status == 2)
  }

  @Test func `HEAD fetches no bytes and is judged by type and length`() async throws {
    let run = try await job(["photo.jpg"], "request: {method: head}\nverify: {bytes: {max: 100}}").runJob()
    #expect(run.status == 2 && run.rows[0].kind == "size")
    let good = try await job(["photo.jpg"], "request: {method: head}").runJob()
    #expect(good.totals["checked"] == 1 && good.rows[0].width == nil && good.rows[0].bytes ?? 0 > 300_000)
    #expect(origin.requests.allSatisfy { $0.method == "HEAD" })
  }

  @Test func `a decoder's warning is a row's warning, and in strict mode a failure that isn't remembered`() async throws {
    let job = job(["without-end.jpg"], "verify: {decode: full}")
    let lax = try await job.runJob()
    #expect(lax.status == 0 && lax.rows[0].warnings?.count == 1)
    let strict = try await job.runJob("--set", "verify.strict=true", "--set", "verify.decode=header")
    #expect(strict.status == 2 && strict.rows[0].kind == "format")
    #expect(strict.rows[0].message?.contains("the JPEG lacks its end marker") == true)
    #expect(try await job.runJob().totals["hit_disk"] == 1)
  }

  @Test func `declared types and late parts of a probe are never blacklisted`() async throws {
    origin.set("/unknown.jpg", .computed { $0.method == "HEAD" ? .status(200) : .body(SampleImages.jpeg(3), type: "image/jpeg") })
    let unknown = job(["unknown.jpg"], "request: {method: head}")
    let head = try await unknown.runJob()
    #expect(head.rows[0].kind == nil && head.section("blacklist")["entries"] as? Int == 0)
    #expect(try await unknown.runJob("--set", "request.method=get").totals["downloaded"] == 1)

    // Its frame header follows more comments than a probe fetches, so the whole image is.
    origin.set("/late.jpg", .ranged(SampleImages.jpeg(4, padding: 2 << 20), type: "image/jpeg"))
    let late = job(["late.jpg"], "request: {method: probe}")
    let probe = try await late.runJob()
    #expect(probe.totals["checked"] == 1 && probe.section("blacklist")["entries"] as? Int == 0)
    #expect(try await late.runJob("--set", "request.method=get").totals["downloaded"] == 1)
    #expect(try await job(["late.jpg"], "cache: {mode: bypass}").runJob().totals["checked"] == 1)
  }

  @Test func `animated images can be forbidden or required`() async throws {
    let job = job(["photo.jpg", "animation.gif"], "verify: {formats: [jpeg, gif], animated: forbid}")
    let forbidden = try await job.runJob()
    #expect(forbidden.status == 2 && forbidden.totals["downloaded"] == 1)
    #expect(forbidden.section("failures_by_kind")["animated"] as? Int == 1)
    let required = try await job.runJob("--set", "verify.animated=require")
    #expect(required.totals["downloaded"] == 1 && required.totals["failed"] == 1)
  }
}
