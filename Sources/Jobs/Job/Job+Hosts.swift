package import ImageDownloading
package import Base

extension Job {
  /// The settings of the hosts that match a pattern.
  package struct HostRule: Sendable {
    package enum Severity: String, Sendable, CaseIterable {
      case fail
      /// Failures are reported but don't count.
      case warn
    }

    package var pattern: HostPattern
    package var limits = DownloadLimits.OfHost()
    /// Sent besides the job's own; those of the same name are replaced.
    package var headers: [HeaderField] = []
    /// Replaces ``Request/auth`` unless it is nil; `.some(nil)` sends no credentials.
    package var auth: Credential??
    package var severity = Severity.fail

    init(_ pattern: HostPattern) { self.pattern = pattern }

    /// Whether requests to its hosts differ from others.
    var changesRequests: Bool { !headers.isEmpty || auth != nil }
  }

  var hostRules: [HostPattern: HostRule] { Dictionary(hosts.map { ($0.pattern, $0) }) { first, _ in first } }

  /// The job as it requests a URL: with the headers and credentials of the URL's host.
  package func forHost(of url: BaseURL) -> Job { hostRules.value(of: url).map(applying) ?? self }

  func applying(_ rule: HostRule) -> Job {
    var job = self
    for header in rule.headers { job.request.download.replace(header) }
    if let auth = rule.auth { job.request.auth = auth }
    return job
  }

  /// The job without secrets, for lists that a server of another origin names.
  var withoutSecrets: Job {
    var job = self
    (job.request.download.headers, job.request.auth) = ([], nil)
    (job.request.tls.clientCertificate, job.request.tls.clientKey) = (nil, nil)
    return job
  }

  /// The limits of transfers, with those of hosts.
  var downloadLimits: DownloadLimits {
    var limits = prefetch.limits
    limits.hosts = hostRules.mapValues(\.limits)
    return limits
  }
}

extension Dictionary where Key == HostPattern {
  /// The value of the most specific pattern that matches the URL's host.
  func value(of url: BaseURL) -> Value? { value(of: url.bytes[url.parts.hostAndPort], isSecure: url.parts.isSecure) }
}

/// The settings of hosts by which a run requests and judges entries.
struct HostSettings {
  struct OfHost {
    /// The first of its ways among those of ``Job/loadWays``, counted from 1; 0: those of all hosts.
    var firstWay: UInt16 = 0
    var isWarning = false
  }

  private var rules: [HostPattern: OfHost] = [:]
  /// The host that was last looked up, since entries of a host mostly follow each other.
  private var last: (host: [UInt8], isSecure: Bool, settings: OfHost) = ([], false, OfHost())

  /// Nil if the job treats all hosts in the same way.
  init?(_ job: Job) {
    var firstWay = 0
    for rule in job.hosts {
      if rule.changesRequests { firstWay += job.wayCount }
      rules[rule.pattern] = OfHost(
        firstWay: rule.changesRequests ? UInt16(firstWay) : 0,
        isWarning: rule.severity == .warn
      )
    }
    guard rules.values.contains(where: { $0.firstWay > 0 || $0.isWarning }) else { return nil }
  }

  /// The settings of a host: `name` or `name:port`, as in a URL in normal form.
  mutating func callAsFunction(_ host: ArraySlice<UInt8>, isSecure: Bool) -> OfHost {
    if isSecure == last.isSecure, host.elementsEqual(last.host) { return last.settings }
    last = (Array(host), isSecure, rules.value(of: host, isSecure: isSecure) ?? OfHost())
    return last.settings
  }
}
