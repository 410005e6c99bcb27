import Foundation
import TestSupport

/// A mail server on loopback (RFC 5321), with or without TLS, that keeps what it receives.
public final class MailServer: Sendable {
  public struct Message: Sendable {
    /// The name of EHLO, the last one if there are several.
    public var greeting = ""
    /// User and password, each before a colon or at the end; empty if there were none.
    public var credentials = ""
    public var isEncrypted = false
    public var from = ""
    public var to: [String] = []
    /// The text as it was sent, with escaped dots.
    public var data = ""
  }

  private let server: LoopbackServer
  private let log: Watched<[Message]>
  private let isSecure: Bool

  /// - Parameters:
  ///   - certificates: those of STARTTLS, or of TLS from the start; nil: it doesn't offer TLS.
  ///   - isSecure: whether TLS begins with the connection.
  ///   - refusing: replies to commands, by their first word; each is used once.
  public init(_ certificates: Certificates? = nil, isSecure: Bool = false, refusing: [String: [String]] = [:]) {
    let (log, refusals) = (Watched<[Message]>([]), Watched(refusing))
    (self.log, self.isSecure) = (log, isSecure)
    server = LoopbackServer(isSecure ? certificates : nil) { client in
      var message = Message()
      message.isEncrypted = isSecure
      client.write("220 mail.test\r\n")
      while let line = client.readLine() {
        let word = String(line.prefix { $0 != " " && $0 != ":" }).uppercased()
        let refusal = refusals.withLock { refusals in refusals[word]?.isEmpty == false ? refusals[word]?.removeFirst() : nil }
        if let refusal {
          client.write("\(refusal)\r\n")
          continue
        }
        switch word {
        case "EHLO":
          message.greeting = String(line.dropFirst("EHLO ".count))
          let offersTLS = certificates != nil && !message.isEncrypted
          client.write("250-mail.test\r\n" + (offersTLS ? "250-STARTTLS\r\n" : "") + "250 AUTH PLAIN\r\n")
        case "STARTTLS":
          client.write("220 go ahead\r\n")
          guard let certificates, client.startTLS(certificates) else { return }
          message.isEncrypted = true
        case "AUTH":
          let words = line.split(separator: " ").map(String.init)
          if words.count < 3 { client.write("334 \r\n") }
          let secret = words.count < 3 ? client.readLine() ?? "" : words[2]
          let parts = Data(base64Encoded: secret)?.split(separator: 0).map { String(decoding: $0, as: UTF8.self) } ?? []
          message.credentials = parts.joined(separator: ":")
          client.write("235 welcome\r\n")
        case "MAIL":
          message.from = line
          client.write("250 OK\r\n")
        case "RCPT":
          message.to.append(line)
          client.write("250 OK\r\n")
        case "DATA":
          client.write("354 go ahead\r\n")
          while let line = client.readLine(), line != "." { message.data += line + "\r\n" }
          let whole = message
          log.withLock { $0.append(whole) }
          client.write("250 OK\r\n")
        case "QUIT":
          client.write("221 bye\r\n")
          return
        default: client.write("500 unknown command\r\n")
        }
      }
    }
  }

  public var url: String { "\(isSecure ? "smtps" : "smtp")://127.0.0.1:\(server.port)" }

  public var messages: [Message] { log.value }
}
