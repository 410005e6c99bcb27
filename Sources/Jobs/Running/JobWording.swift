package import ImageCaching
import ImageManaging
import Base
package import Reports

/// The sentences of failures and errors, with the job's keys.
struct JobWording: Wording {
  func sentence(_ error: CacheError) -> String { error.jobSentence }

  func sentence(_ reason: FailureReason) -> String {
    let finding = reason.finding
    return switch reason {
    case .tooFewBytes(_, let minimum): "\(finding); verify.bytes.min is \(minimum)"
    case .tooManyBytes(_, let maximum): "\(finding); verify.bytes.max is \(maximum)"
    case .format(_, let allowed): "\(finding); verify.formats allows \(allowed.map(\.name).joined(separator: ", "))"
    case .unnamedFormat: "\(finding); verify.formats requires one"
    case .undecoded: "\(finding); verify.decode: none accepts it unchecked"
    case .untransformable(let format):
      "the image is \(format.name), which transform can't resize; leave it out with exclude: '*.\(format.fileExtension)'"
    case .animated: "\(finding); verify.animated is forbid"
    case .still: "\(finding); verify.animated is require"
    case .decoderWarning(let warning): "verify.strict forbids warnings: \(warning)"
    case .width(_, let minimum, let maximum): "\(finding); verify.width requires \(FailureReason.bounds(minimum, maximum))"
    case .height(_, let minimum, let maximum): "\(finding); verify.height requires \(FailureReason.bounds(minimum, maximum))"
    case .tooManyPixels(_, let maximum), .transformTooLarge(_, _, let maximum): "\(finding); verify.max-pixels is \(maximum)"
    case .placeholder: "\(finding); verify.placeholders rejects such images"
    case .secondRequest(let failure): "\(finding); verify.remote-cache requires a hit: \(failure)"
    case .noRemoteHit: "\(finding); verify.remote-cache requires a hit"
    case .waitTooLong: reason.sentence(naming: "request.retry-after-max")
    case .bodyTooLarge: reason.sentence(naming: "max-bytes")
    case .cookieLoop: "\(finding); set request.cookies: true to send it back"
    case .unusedProxy: "\(finding); set request.proxy: environment to use it"
    case .unresolved, .noConnection, .hostDown: finding
    case .quoted(let before, let reason, let after): "\(before)\(sentence(reason))\(after)"
    }
  }
}

extension CacheError {
  package var jobSentence: String {
    switch self {
    case .diskFull(let path): "no space left for the cache at \(path); free disk space, or set cache.max-size"
    case .tooManyOpenFiles(let path):
      "too many open files for the cache at \(path); raise the limit (ulimit -n), or lower prefetch.concurrency"
    default: description
    }
  }
}

extension ImageFailure {
  var jobSentence: String { reason.map(JobWording().sentence) ?? message }
}

/// Returns the sentence of any error; that of a cache error names the job's keys.
package func jobSentence(of error: any Error) -> String { (error as? CacheError)?.jobSentence ?? "\(error)" }

extension ReportWords {
  /// The job's keys and prewarm's commands.
  package static let job = job(file: nil)
  /// Those of commands that read reports.
  package static let reading = job(file: nil, failuresAdvice: "--failures all, or --report html=report.html")

  /// Those of a run of the job in `file`; nil if it has none.
  static func job(file: String?, failuresAdvice: String = "--failures all, or --output report.html") -> ReportWords {
    var words = ReportWords()
    (words.rules, words.filters) = ("fail-on", "include and exclude")
    words.evictionAdvice = "raise cache.max-size"
    words.blacklistAdvice = "prewarm blacklist list" + (file.map { " --job \(escapedForTerminal(shellQuoted($0)))" } ?? "")
    (words.failuresAdvice, words.retryAdvice) = (failuresAdvice, "--retry-blacklisted")
    return words
  }
}
