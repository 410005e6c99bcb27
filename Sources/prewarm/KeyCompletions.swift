import ArgumentParser
import Reports
import WarmJobs

/// What shells offer as values of the options that set keys of the job; made once, since options are made anew for each command.
enum KeyCompletions {
  static let method = CompletionKind.list(JobKeys.suggestions(for: "request.method"))
  static let order = CompletionKind.list(JobKeys.suggestions(for: "prefetch.order"))
  static let decode = CompletionKind.list(JobKeys.suggestions(for: "verify.decode"))
  static let cacheMode = CompletionKind.list(JobKeys.suggestions(for: "cache.mode"))
  static let freshness = CompletionKind.list(JobKeys.suggestions(for: "cache.freshness"))
  static let rules = CompletionKind.list(JobKeys.settings(in: "fail-on."))
  static let reports = CompletionKind.list(ReportFormat.allCases.map { "\($0.rawValue)=-" })
  static let settings = CompletionKind.list(JobKeys.settings())
}
