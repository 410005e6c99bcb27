import TestOrigin
import TestSupport
import Testing

extension FaultRow {
  /// Bodies that break off, and go on in a retry or cannot.
  static let interrupted: [FaultRow] = [
    resumed("cuts a body once", [whole.brokenOff(afterBytes: 100_000), whole], ranges: [nil, "bytes=95904-"]),
    resumed(
      "resets a body again and again",
      [100_000, 60_000, 1].map { whole.brokenOff(afterBytes: $0, by: .reset) } + [whole],
      ranges: nil
    ),
    resumed(
      "cuts a body, and has another image by then",
      [whole.brokenOff(afterBytes: 100_000), .ranged(image, type: "image/jpeg", headers: validators("\"2\""))],
      ranges: [nil, "bytes=95904-"],
      isCountedOnce: false
    ),
    resumed(
      "cuts a body, and takes no ranges",
      [.body(image, type: "image/jpeg").brokenOff(afterBytes: 100_000), .body(image, type: "image/jpeg")],
      ranges: [nil, nil],
      isCountedOnce: false
    ),
    resumed(
      "cuts a body, and sends another part than was asked for",
      [whole.brokenOff(afterBytes: 100_000), .part(5..<1000, of: image, headers: validators("\"1\"")), whole],
      ranges: nil,
      isCountedOnce: false,
      // The whole is asked for at once, in the same attempt.
      attempts: 2
    ),
    .server(
      "cuts a body each time",
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

  /// - Parameter ranges: what each request asks for; nil where the network decides it.
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
      // A part begins with the last bytes of the one before.
      #expect(downloaded >= image.count && (downloaded < image.count + 50_000) == isCountedOnce)
    }
  }
}
