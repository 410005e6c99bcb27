internal import Base
internal import Notices

extension JobKeys {
  @JobKeyList static var notify: [JobKey] {
    JobKey("notify", "messages about each run, after its reports are written")
      .entries(exactlyOneOf: Job.Notification.Kind.allCases.map(\.rawValue), \.notifications, Job.Notification()) { _ in "" }
    JobKey("notify[].webhook", "POST of JSON, signed as Standard Webhooks specify")
      .opening { $0.notification.kind = .webhook }
    JobKey("notify[].webhook.url", "the URL, unless it is a secret")
      .value(.given(.webURL), \.notification.webURL, example: "https://hooks.example.com/prewarm")
    for key in urlKeys(of: .webhook) { key }
    JobKey("notify[].webhook.secret-env", "the environment variable with the secret: whsec_BASE64, or any text")
      .value(.secret(.signature), \.notification.secret.value, example: "HOOK_SECRET")
    JobKey("notify[].webhook.secret-file", "the file with the secret")
      .value(.given(.path), \.notification.secret.file, example: "/run/secrets/hook")
    JobKey("notify[].slack", "an incoming webhook of Slack")
      .opening { $0.notification.kind = .slack }
    for key in urlKeys(of: .slack) { key }
    JobKey("notify[].teams", "a workflow of Teams that starts when a webhook request is received")
      .opening { $0.notification.kind = .teams }
    for key in urlKeys(of: .teams) { key }
    JobKey("notify[].email", "an email")
      .opening { $0.notification.kind = .email }
    JobKey("notify[].email.server", "the mail server; smtp requires STARTTLS if there is a user")
      .value(.text(.mailServer), \.notification.mail.server, .required, example: "smtps://mail.example.com")
    JobKey("notify[].email.from", "the address of the sender")
      .value(.text(.mailAddress), \.notification.mail.from, .required, example: "prewarm@example.com")
    JobKey("notify[].email.to", "the addresses of the recipients")
      .value(.list(of: .text(.mailAddress)), \.notification.mail.to, .required, example: "[ops@example.com]")
    JobKey("notify[].email.username", "the user")
      .value(.given(.text(.headerValue)), \.notification.mail.user, example: "prewarm")
    JobKey("notify[].email.password-env", "the environment variable with the password")
      .value(.secret(.password), \.notification.secret.value, example: "MAIL_PASSWORD")
    JobKey("notify[].email.password-file", "the file with the password")
      .value(.given(.path), \.notification.secret.file, example: "/run/secrets/mail")
    JobKey("notify[].when", "failed: exit status 1 or 2; changed: other failures than the last run")
      .value(.choice("a time to notify"), \.notification.occasion)
    JobKey("notify[].link", "the URL where the reports can be seen")
      .value(.given(.webURL), \.notification.link, example: "https://ci.example.com/prewarm")
  }

  @JobKeyList private static func urlKeys(of kind: Job.Notification.Kind) -> [JobKey] {
    let path = "notify[].\(kind.rawValue)"
    JobKey("\(path).url-env", "the environment variable with the URL")
      .value(.secret(.url), \.notification.url.value, example: "\(kind.rawValue.uppercased())_URL")
    JobKey("\(path).url-file", "the file with the URL")
      .value(.given(.path), \.notification.url.file, example: "/run/secrets/\(kind.rawValue)")
  }
}

extension Job {
  /// The last notification, whose keys are being read.
  fileprivate var notification: Notification {
    get { notifications[notifications.count - 1] }
    set { notifications[notifications.count - 1] = newValue }
  }
}

extension JobCodec<String?> {
  /// The value of an environment variable that can be used.
  fileprivate static func secret(_ use: Job.Secret.Use) -> JobCodec {
    let variable = JobCodec<String>.secretVariable
    return JobCodec(variable.form) { reader, node in
      guard let value = variable.value(node, reader) else { return nil }
      guard let problem = Job.Secret.problem(value, for: use) else { return value }
      reader.errors.add("the value of this environment variable \(problem)", at: node)
      return nil
    } text: { _ in
      "***"
    }
  }
}

// Checks of notifications.
extension JobReader {
  /// Rejects notifications without a receiver, or with two texts for one purpose.
  func checkNotifications() {
    for (index, notification) in job.notifications.enumerated() {
      let path = "notify[\(index)].\(notification.kind.rawValue)"
      guard let section = given[path], section.mapping != nil else { continue }
      let kind = notification.kind.rawValue
      if notification.kind == .email {
        checkSources(["password-env", "password-file"], of: section)
        let hasPassword = section.mapping?["password-env"] != nil || section.mapping?["password-file"] != nil
        if hasPassword != (section.mapping?["username"] != nil) {
          let (missing, example) = hasPassword ? ("username", "prewarm") : ("password-env", "MAIL_PASSWORD")
          errors.add("missing key '\(missing)'; add \(missing): \(example)", atStartOf: section)
        }
        if given["\(path).to"] != nil, notification.mail.to.isEmpty, let node = given["\(path).to"] {
          errors.add("'to' has no addresses; write to: [ops@example.com]", at: node)
        }
      } else {
        checkSources(["url", "url-env", "url-file"], of: section, example: "\(kind.uppercased())_URL")
        checkSources(["secret-env", "secret-file"], of: section)
      }
    }
  }

  /// Rejects two of the keys, and none of them if there is an example of the second one.
  private func checkSources(_ keys: [String], of section: YAMLNode, example: String? = nil) {
    let written = (section.mapping?.pairs ?? []).map(\.key).filter { keys.contains($0.scalar?.text ?? "") }
    if written.isEmpty, let example {
      errors.add("missing key '\(keys[1])'; add \(keys[1]): \(example)", atStartOf: section)
    }
    guard let other = written.dropFirst().first, let first = written[0].scalar?.text else { return }
    errors.add("'\(other.scalar?.text ?? "")' and '\(first)' have the same purpose; remove one of them", at: other)
  }
}
