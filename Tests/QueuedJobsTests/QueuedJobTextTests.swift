import ImageDownloading
import ImagePrimitives
import Testing

@testable import QueuedJobs
@testable import WarmJobs

/// Jobs as stored in a queue, and the failures that workers share.
@Suite struct QueuedJobTextTests {
  private let yaml = """
    version: 1
    name: homepage
    manifests: [{path: '${MANIFESTS}/urls.txt'}]
    request: {headers: {X-Token: '${TOKEN}'}}
    report: [{json: '${REPORTS}/a.json'}]
    fail-on: {baseline: '${REPORTS}/b.json'}
    """

  private var text: QueuedJobText {
    var yielding = JobOverride(path: "request.method", value: "probe", origin: "--method")
    yielding.yields = true
    return QueuedJobText(
      path: "jobs/homepage.yaml",
      text: Array(yaml.utf8),
      overrides: [
        JobOverride(path: "prefetch.concurrency", value: "7", origin: "--concurrency"), yielding,
        JobOverride(path: "report", value: "{json: x}", origin: "--report json", appends: true),
        JobOverride(path: "fail-on.failures", value: "1%", origin: "--fail-on failures"),
      ]
    )
  }

  @Test("a queued job survives a round trip without the enqueuer's own keys")
  func itComesBackAsItWasWithoutWhatOnlyItsEnqueuerNeeds() throws {
    let back = try QueuedJobText(decoding: text.encoded)
    #expect(back == text && back.name == "homepage.yaml")
    #expect(back.overrides.map(\.path) == ["prefetch.concurrency", "request.method"])
    #expect(back.overrides[1].yields && !back.overrides[0].yields)
    #expect(back.digest == text.digest)
  }

  @Test("a worker needs only the variables that it uses") func aWorkerNeedsOnlyTheVariablesThatItUses() throws {
    let job = try text.job([], environment: ["TOKEN": "t", "HOME": "/home/w"])
    #expect(job.prefetch.limits.concurrency == 7 && job.request.download.headers.first?.value == "t")
    #expect(job.reports.isEmpty && job.baseline == nil)
    #expect(throws: JobFileErrors.self) { try text.job([], environment: ["HOME": "/home/w"]) }
    let own = try text.job(
      [JobOverride(path: "prefetch.concurrency", value: "9", origin: "--concurrency")],
      environment: ["TOKEN": "t", "HOME": "/home/w"]
    )
    #expect(own.prefetch.limits.concurrency == 9)
  }

  @Test("a truncated or changed job is rejected, or read as another one")
  func whateverIsCutOrChangedIsRefusedOrReadAsSomethingElse() {
    let bytes = text.encoded
    #expect(throws: QueuedJobText.FormatError.self) { try QueuedJobText(decoding: []) }
    for count in 0..<bytes.count {
      // A cut between two overrides leaves a job with fewer of them.
      if let cut = try? QueuedJobText(decoding: Array(bytes[..<count])) { #expect(cut.overrides.count < text.overrides.count) }
    }
    var random = SystemRandomNumberGenerator()
    for _ in 0..<2000 {
      var changed = bytes
      changed[Int.random(in: 0..<changed.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      _ = try? QueuedJobText(decoding: changed)
    }
  }

  @Test("a shared failure survives a round trip", arguments: [nil, 404, 999] as [Int?])
  func aSharedFailureComesBackAsItWas(status: Int?) {
    for kind in FailureKind.allCases {
      let failure = SharedFailure(kind: kind, status: status, at: Timestamp(milliseconds: 1_763_683_200_123))
      #expect(SharedFailure(decoding: failure.encoded) == failure)
      for count in 0..<failure.encoded.count { #expect(SharedFailure(decoding: Array(failure.encoded[..<count])) != failure) }
    }
    #expect(SharedFailure(decoding: [1, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0] + Array("dns".utf8)) == nil)
  }
}
