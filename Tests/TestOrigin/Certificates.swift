import TestSupport

/// A test's own certificate authority and its certificates, as PEM files that live as long as this.
public final class Certificates: Sendable {
  private let folder = TemporaryDirectory()

  /// The authority's certificate, which it signed itself.
  public var authority: String { folder.file("authority.pem") }
  public var authorityKey: String { folder.file("authority.key") }
  /// A server's certificate for 127.0.0.1, localhost, image.test, a.test, b.test and further hosts.
  public var server: String { folder.file("server.pem") }
  public var serverKey: String { folder.file("server.key") }
  public var client: String { folder.file("client.pem") }
  public var clientKey: String { folder.file("client.key") }

  /// Creates them with the `openssl` command.
  ///
  /// - Parameter hosts: further names of the server, such as `*.example.com`.
  /// - Throws: `SpawnFailure`, or ``CertificateFailure`` with openssl's output.
  public init(hosts: [String] = []) async throws {
    let hostNames = hosts.map { ",DNS:\($0)" }.joined()
    let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    try await openssl(
      ["req", "-x509"] + newKey
        + ["-subj", "/CN=authority", "-days", "2", "-keyout", authorityKey, "-out", authority]
    )
    for (name, names) in [
      ("server", "IP:127.0.0.1,DNS:localhost,DNS:image.test,DNS:a.test,DNS:b.test\(hostNames)"), ("client", "DNS:client"),
    ] {
      let (request, signed) = (folder.file("\(name).csr"), folder.file("\(name).pem"))
      let extensions = folder.write("subjectAltName=\(names)\n", to: "\(name).txt")
      try await openssl(
        ["req", "-new"] + newKey + ["-subj", "/CN=\(name)", "-keyout", folder.file("\(name).key"), "-out", request]
      )
      try await openssl(
        ["x509", "-req", "-in", request, "-CA", authority, "-CAkey", authorityKey, "-CAcreateserial"]
          + ["-days", "2", "-extfile", extensions, "-out", signed]
      )
    }
  }

  private func openssl(_ arguments: [String]) async throws {
    let result = try await Command("/usr/bin/openssl", arguments).wait()
    guard result.status == 0 else { throw CertificateFailure(description: "openssl \(arguments[0]): \(result.errorText)") }
  }
}

public struct CertificateFailure: Error, CustomStringConvertible {
  public let description: String
}
