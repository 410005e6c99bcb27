import TestOrigin
import TestSupport
import Testing

extension FaultRow {
  /// Bodies that are interrupted, and resumed by a retry, or not.
  static let interrupted: [FaultRow] = [
    resumed("truncates a body once", [whole.brokenOff(afterBytes: 100_000), whole], ranges: [nil, "bytes=95904-"]),
    resumed(
      "resets a body again and again",
      [100_000, 60_000, 1].map { whole.brokenOff(afterBytes: $0, by: .reset) } + [whole],
      ranges: nil
    ),
    resumed(
      "truncates a body, then has another image",
      [whole.brokenOff(afterBytes: 100_000), .ranged(image, type: "image/jpeg", headers: validators("\"2\""))],
      ranges: [nil, "bytes=95904-"],
      isCountedOnce: false
    ),
    resumed(
      "truncates a body, and ignores ranges",
      [.body(image, type: "image/jpeg").brokenOff(afterBytes: 100_000), .body(image, type: "image/jpeg")],
      ranges: [nil, nil],
      isCountedOnce: false
    ),
    resumed(
      "truncates a body, then sends a wrong range",
      [whole.brokenOff(afterBytes: 100_000), .part(5..<1000, of: image, headers: validators("\"1\"")), whole],
      ranges: nil,
      isCountedOnce: false,
      // The whole is requested at once, in the same attempt.
      attempts: 2
    ),
    .server(
      "truncates a body each time",
      "truncated",
      "the body ended after 1000 of",
      keys: keys,
      .body(image, type: "image/jpeg").brokenOff(afterBytes: 1000)
    ),
  ]

  private static let keys = "request: {retries: 5, backoff: {initial: 1ms, maximum: 2ms}}"
  private static let image = SampleImages.jpeg(9, padding: 300_000)
  private static let whole = Behaviour.ranged(image, type: "image/jpeg", headers: validators("\"1\""))

  private static func validators(_ tag: String) -> HeaderFields { ["ETag": tag, "Accept-Ranges": "bytes"] }

  /// - Parameter ranges: the range of each request; nil if it depends on the network.
  private static func resumed(
    _ fault: String,
    _ behaviours: [Behaviour],
    ranges: [String?]?,
    isCountedOnce: Bool = true,
    attempts: Int? = nil
  ) -> FaultRow {
    FaultRow(part: "server", fault: fault, keys: keys, outcome: "downloaded", exit: 0, says: "") { scene in
      scene.add(.sequence(behaviours))
    } check: { scene, result in
      let run = try scene.job.finishedRun(result)
      let requests = scene.origin.requests.filter { $0.path == "/fault.jpg" }
      #expect(run.attempts("total") == attempts ?? behaviours.count)
      #expect(requests.count == behaviours.count)
      if let ranges { #expect(requests.map { $0.headers["Range"] } == ranges) }
      for request in requests { #expect((request.headers["Range"] == nil) == (request.headers["If-Range"] == nil)) }
      let downloaded = run.section("bytes")["downloaded"] as? Int ?? 0
      // A range starts with the last bytes of the previous part.
      #expect(downloaded >= image.count && (downloaded < image.count + 50_000) == isCountedOnce)
    }
  }
}
