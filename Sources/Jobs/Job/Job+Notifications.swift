import Glibc
import Notices
import Base

extension Job {
  /// A message about each run, as the job file has it; ``Notice`` has its secrets.
  package struct Notification: Sendable {
    package enum Kind: String, Sendable, CaseIterable {
      case webhook, slack, teams, email
    }

    var kind = Kind.webhook
    var occasion = Notice.Occasion.failed
    var link: BaseURL?
    /// The URL of a webhook that isn't a secret.
    var webURL: BaseURL?
    var url = Secret()
    /// The secret that signs a webhook, or the password of an email's user.
    var secret = Secret()
    /// Of an email.
    var mail = MailFields()
  }

  struct MailFields: Sendable {
    var server = ""
    var from = ""
    var to: [String] = []
    var user: String?
  }

  /// A text of the environment or of a file, which no message shows.
  struct Secret: Sendable {
    /// What the text is for, which decides whether it is valid.
    enum Use {
      case url, signature, password
    }

    static let maximumBytes = 65_536

    var value: String?
    var file: JobPath?

    /// Why the text can't be used, as the end of a sentence; nil if it can.
    static func problem(_ text: String, for use: Use) -> String? {
      if text.isEmpty { return "is empty; set it to the secret" }
      if !HeaderRules.isValue(text) { return "contains control characters; remove them" }
      return switch use {
      case .url: (try? BaseURL(text)) == nil ? "isn't an absolute http or https URL" : nil
      case .signature: Notice.signingKey(text) == nil ? "begins with whsec_, but no Base64 follows" : nil
      case .password: nil
      }
    }

    /// Returns the text; of a file without its last line feed. Throws if a file can't be used; nil if there is none.
    func read(_ use: Use, key: String) throws(JobError) -> String? {
      guard let file else { return value }
      guard var bytes = contents(of: file.absolute, limit: Self.maximumBytes) else {
        throw .unreadable(key: key, path: file.written, reason: errorSentence())
      }
      if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
      let text = String(decoding: bytes, as: UTF8.self)
      if let problem = Self.problem(text, for: use) { throw .unreadable(key: key, path: file.written, reason: "it \(problem)") }
      return text
    }
  }
}

extension Job.Secret: CustomStringConvertible, CustomReflectable {
  var description: String { "***" }
  var customMirror: Mirror { Mirror(self, children: []) }
}

extension Job {
  /// The notifications with their secrets; throws if a file of one can't be used.
  func notices() throws(JobError) -> [Notice] {
    var notices: [Notice] = []
    for (index, notification) in notifications.enumerated() {
      let name = "notify[\(index)].\(notification.kind.rawValue)"
      let target = try notification.target(name)
      notices.append(Notice(name: name, target: target, occasion: notification.occasion, link: notification.link))
    }
    return notices
  }
}

extension Job.Notification {
  fileprivate func target(_ name: String) throws(JobError) -> Notice.Target {
    switch kind {
    case .webhook:
      let secret = try secret.read(.signature, key: "\(name).secret-file")
      return .webhook(try receiver(name), key: secret.flatMap(Notice.signingKey))
    case .slack: return .slack(try receiver(name))
    case .teams: return .teams(try receiver(name))
    case .email:
      let password = try secret.read(.password, key: "\(name).password-file")
      return .email(Mail(server: mail.server, from: mail.from, to: mail.to, user: mail.user, password: password))
    }
  }

  private func receiver(_ name: String) throws(JobError) -> BaseURL {
    if let webURL { return webURL }
    guard let text = try url.read(.url, key: "\(name).url-file"), let url = try? BaseURL(text) else {
      fatalError("\(name) has no URL")
    }
    return url
  }
}
