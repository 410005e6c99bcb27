import ImageCaching
import Base
import Testing
@testable import Jobs

/// Messages of failures and errors that name keys of the job.
@Suite struct WordingTests {
  private static let size = ImageSize(width: 40, height: 30)

  @Test(
    arguments: [
      (.tooFewBytes(5, minimum: 10), "the image has 5 bytes; verify.bytes.min is 10"),
      (.tooManyBytes(50, maximum: 10), "the image has 50 bytes; verify.bytes.max is 10"),
      (.format(.gif, allowed: [.jpeg, .png]), "the image is gif; verify.formats allows jpeg, png"),
      (.unnamedFormat(contentType: "image/*"), "the content type image/* names no image format; verify.formats requires one"),
      (.unnamedFormat(contentType: nil), "the response has no content type; verify.formats requires one"),
      (.undecoded(.jpegXL), "the image is jpeg-xl, which can't be decoded; verify.decode: none accepts it unchecked"),
      (.untransformable(.svg), "the image is svg, which transform can't resize; leave it out with exclude: '*.svg'"),
      (.animated, "the image is animated; verify.animated is forbid"),
      (.still, "the image isn't animated; verify.animated is require"),
      (.decoderWarning("extra bytes"), "verify.strict forbids warnings: extra bytes"),
      (.width(size, minimum: 50, maximum: nil), "the image is 40 x 30 pixels; verify.width requires at least 50"),
      (.height(size, minimum: 1, maximum: 20), "the image is 40 x 30 pixels; verify.height requires 1 to 20"),
      (.tooManyPixels(size, maximum: 1000), "the image is 40 x 30 pixels; verify.max-pixels is 1000"),
      (
        .transformTooLarge(size, frames: 1, maximum: 1000),
        "the transform would make an image of 40 x 30 pixels; verify.max-pixels is 1000"
      ),
      (
        .transformTooLarge(size, frames: 3, maximum: 1000),
        "the transform would make 3 frames of 40 x 30 pixels; verify.max-pixels is 1000"
      ),
      (
        .placeholder(urls: 3, host: "a.example", first: "https://a.example/1"),
        "3 URLs of a.example have returned the same bytes, first https://a.example/1; "
          + "verify.placeholders rejects such images"
      ),
      (
        .secondRequest(failure: "the server answered 500"),
        "the second request failed; verify.remote-cache requires a hit: the server answered 500"
      ),
      (.noRemoteHit(evidence: nil), "the second response has no cache header; verify.remote-cache requires a hit"),
      (
        .noRemoteHit(evidence: "X-Cache: MISS"),
        "the second response isn't a cache hit ('X-Cache: MISS'); verify.remote-cache requires a hit"
      ),
      (
        .waitTooLong(finding: "a.example:443 answered 503 and asks to wait 300 s", maximum: .seconds(120), wasRequested: true),
        "a.example:443 answered 503 and asks to wait 300 s, longer than request.retry-after-max (120 s)"
      ),
      (
        .waitTooLong(finding: "a.example:443 asks to wait 2 s", maximum: .milliseconds(250), wasRequested: false),
        "a.example:443 asks to wait 2 s, longer than request.retry-after-max (250 ms); this URL wasn't requested"
      ),
      (.bodyTooLarge(declaredBytes: nil, maximum: 9), "the body exceeds max-bytes (9 bytes)"),
      (.bodyTooLarge(declaredBytes: 10, maximum: 9), "the declared body of 10 bytes exceeds max-bytes (9 bytes)"),
      (
        .quoted(before: "no rules (", .bodyTooLarge(declaredBytes: nil, maximum: 9), after: ")"),
        "no rules (the body exceeds max-bytes (9 bytes))"
      ),
    ] as [(FailureReason, String)]
  )
  func `a failure by a rule names the key to change`(_ reason: FailureReason, _ sentence: String) {
    #expect(JobWording().sentence(reason) == sentence)
    for key in ["verify.", "request.", "max-bytes"] { #expect(!"\(reason)".contains(key)) }
  }

  @Test func `an error of the cache names the key to change, if there is one`() {
    #expect(
      CacheError.diskFull(path: "/c").jobSentence == "no space left for the cache at /c; free disk space, or set cache.max-size"
    )
    #expect(
      CacheError.tooManyOpenFiles(path: "/c").jobSentence
        == "too many open files for the cache at /c; raise the limit (ulimit -n), or lower prefetch.concurrency"
    )
    let missing = CacheError.missing(path: "/c")
    #expect(missing.jobSentence == "\(missing)")
  }
}
