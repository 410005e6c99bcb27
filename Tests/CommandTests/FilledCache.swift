import TestOrigin
import TestSupport
import Testing

extension JobFolder {
  /// The failing paths of ``filled(from:keys:)``.
  static let badPaths = ["/gone.jpg", "/page.jpg"]

  /// A job whose run has left five images in the cache and two URLs on the blacklist.
  static func filled(from origin: Origin, keys: String = "") async throws -> JobFolder {
    origin.set("/page.jpg", .body(Array("<!doctype html>".utf8), type: "text/html"))
    let job = JobFolder(urls: imageURLs(origin, 0..<5) + badPaths.map { origin.url($0) }, keys: keys)
    let run = try await job.runJob()
    try #require(run.totals["downloaded"] == 5 && run.totals["failed"] == 2)
    return job
  }
}
