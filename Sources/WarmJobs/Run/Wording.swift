package import ImageCaching
import ImageManaging
import ImagePrimitives
package import Reports

/// The sentences of errors that name the job's keys.
struct JobWording: Wording {
  func sentence(_ error: CacheError) -> String { error.jobSentence }

  func sentence(_ reason: FailureReason) -> String {
    let finding = reason.finding
    return switch reason {
    case .tooFewBytes(_, let minimum): "\(finding), and verify.bytes.min is \(minimum)"
    case .tooManyBytes(_, let maximum): "\(finding), and verify.bytes.max is \(maximum)"
    case .format(_, let allowed): "\(finding), and verify.formats allows \(allowed.map(\.name).joined(separator: ", "))"
    case .unnamedFormat: "\(finding), and verify.formats asks for some"
    case .undecoded: "\(finding); verify.decode: none takes it as it is"
    case .animated: "\(finding), and verify.animated is forbid"
    case .still: "\(finding), and verify.animated is require"
    case .decoderWarning(let warning): "verify.strict allows no warnings: \(warning)"
    case .width(_, let minimum, let maximum): "\(finding), and verify.width asks for \(FailureReason.bounds(minimum, maximum))"
    case .height(_, let minimum, let maximum): "\(finding), and verify.height asks for \(FailureReason.bounds(minimum, maximum))"
    case .tooManyPixels(_, let maximum), .transformTooLarge(_, _, let maximum): "\(finding), and verify.max-pixels is \(maximum)"
    case .placeholder: "\(finding): by verify.placeholders they stand for an image that is missing"
    case .secondRequest(let failure): "\(finding), and verify.remote-cache asks for a hit: \(failure)"
    case .noRemoteHit: "\(finding), and verify.remote-cache asks for a hit"
    case .waitTooLong: reason.sentence(naming: "request.retry-after-max")
    case .bodyTooLarge: reason.sentence(naming: "max-bytes")
    case .unresolved, .noConnection, .hostDown: finding
    case .quoted(let before, let reason, let after): "\(before)\(sentence(reason))\(after)"
    }
  }
}

extension CacheError {
  /// The error as one sentence that names the job's keys.
  package var jobSentence: String {
    switch self {
    case .diskFull(let path): "no space is left for the cache at \(path); free space, or limit it with max-size"
    case .tooManyOpenFiles(let path):
      "too many files are open for the cache at \(path); raise the limit (ulimit -n), or lower prefetch.concurrency"
    default: description
    }
  }
}

extension Failure {
  /// The failure as one sentence that names the job's keys.
  var jobSentence: String { reason.map(JobWording().sentence) ?? message }
}

/// The sentence of any error: one of the cache names the job's keys.
package func jobSentence(of error: any Error) -> String { (error as? CacheError)?.jobSentence ?? "\(error)" }

extension ReportWords {
  /// The job's keys and prewarm's commands.
  package static let job = ReportWords(
    rules: "fail-on",
    filters: "include and exclude",
    evictionAdvice: "raise cache.max-size",
    blacklistAdvice: "prewarm blacklist list",
    failuresAdvice: "--failures all, or report: [{html: …}]"
  )
}
