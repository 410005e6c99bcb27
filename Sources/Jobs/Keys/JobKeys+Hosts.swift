internal import Base
internal import ImageDownloading

extension JobKeys {
  @JobKeyList static var hosts: [JobKey] {
    JobKey("hosts", "settings of some hosts; the most specific name counts")
      .named(.host, [.advanced, .inDigest], example: "{img.example.com: {per-host: 4}}") { job, name in
        HostPattern(name).map {
          job.hosts.append(Job.HostRule($0))
          return $0.description
        }
      } text: { job in
        let rules = job.hosts.map { "\(JobOverride.quoted($0.pattern.description)): \($0.severity.rawValue)" }
        return "{\(rules.sorted().joined(separator: ", "))}"
      }
    JobKey("hosts[].per-host", "replaces prefetch.per-host")
      .value(.given(.integer(1...4096)), \.host.limits.perHost, .advanced, example: "4")
    JobKey("hosts[].per-host-rate", "replaces prefetch.per-host-rate")
      .value(.given(.word("none", means: .infinity, or: .rate)), \.host.limits.perHostRate, .advanced, example: "20/s")
    JobKey("hosts[].headers", "sent besides request.headers; replaces those of the same name")
      .value(.headers(), \.host.headers, .advanced)
    JobKey("hosts[].auth", "replaces request.auth")
      .value(
        .section(or: "none", example: "{username: TEXT, password-env: NAME}"),
        \.host.givenAuth,
        .advanced,
        example: "none"
      ) {
        $0.host.auth = Credential(user: "", password: "")
      }
    JobKey("hosts[].auth.username", "the user")
      .value(.text(.username), \.host.credential.user, [.required, .advanced], example: "prewarm")
    JobKey("hosts[].auth.password-env", "the environment variable with the password")
      .value(.secretVariable, \.host.credential.password, [.required, .advanced], example: "IMAGES_PASSWORD")
    JobKey("hosts[].severity", "warn: report failures, but don't count them")
      .value(.choice("a severity"), \.host.severity, .advanced)
  }
}

extension Job {
  /// The last host, whose keys are being read.
  fileprivate var host: HostRule {
    get { hosts[hosts.count - 1] }
    set { hosts[hosts.count - 1] = newValue }
  }
}

extension Job.HostRule {
  fileprivate var givenAuth: Credential? {
    get { auth ?? nil }
    set { auth = .some(newValue) }
  }

  fileprivate var credential: Credential {
    get { givenAuth ?? Credential(user: "", password: "") }
    set { givenAuth = newValue }
  }
}

extension JobForm {
  fileprivate static let host = JobForm.scalar(
    "a host such as img.example.com, img.example.com:8443 or \"*.example.com\"",
    "{HOST: {KEY: VALUE}}",
    pattern: #"(?:\*\.)?[^\s:/?#@\\\[\]*]+|(?:\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\\\[\]*]+):0*[1-9][0-9]{0,4}|\[[0-9A-Fa-f:.]+\]"#
  )
}
