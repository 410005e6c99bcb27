import ImageDownloading
import Base
import TestOrigin
import TestSupport
import Testing

/// TLS trust and client certificates; connections aren't shared between different settings.
struct TLSTests {
  private let folder = TemporaryDirectory()
  private let certificates: Certificates

  init() async throws {
    folder.write([7], to: "a")
    certificates = try await Certificates()
  }

  private func nginx(http2: Bool = true, verifiesClients: Bool = false) async throws -> Nginx {
    let tls = Nginx.TLS(certificates, offersHTTP2: http2, verifiesClients: verifiesClients)
    return try await Nginx(serving: folder.path, tls: tls)
  }

  private func options(_ connection: DownloadOptions.Connection) -> DownloadOptions { .forTests(connection: connection) }

  @Test func `only the given CA is trusted`() async throws {
    let nginx = try await nginx()
    let trusted = try await Fetcher().fetch(nginx.url("/a"), options: options(.with(caFile: certificates.authority)))
    #expect(trusted.image?.body == [7])
    let other = try await Certificates()
    for file in [nil, other.authority] {
      let failure = try #require(try await Fetcher().fetch(nginx.url("/a"), options: options(.with(caFile: file))).failure)
      #expect(failure.kind == .tls && !failure.isTransient && failure.message.contains("certificate"))
      if file == nil { #expect(failure.message.hasSuffix("an intermediate certificate, or its CA isn't trusted here")) }
    }
  }

  @Test func `a certificate for another name fails as tls`() async throws {
    let nginx = try await nginx()
    let target = DownloadOptions.ConnectTarget(targetHost: "127.0.0.1", targetPort: nginx.port)
    let connection = DownloadOptions.Connection.with(connectTo: [target], caFile: certificates.authority)
    let ends = try await Fetcher().fetchInTurn(
      ["https://image.test/a", "https://image.invalid/a"].map { ($0, options(connection)) }
    )
    #expect(ends[0].image?.body == [7] && ends[1].failure?.kind == .tls && ends[1].failure?.isTransient == false)
  }

  @Test func `a client certificate is sent if the server requests it`() async throws {
    let nginx = try await nginx(verifiesClients: true)
    let (file, key) = (certificates.client, certificates.clientKey)
    let fetcher = try Fetcher()
    let with = options(.with(caFile: certificates.authority, clientCertificate: file, clientKey: key))
    let without = options(.with(caFile: certificates.authority))
    let ends = try await fetcher.fetchInTurn([with, without, with, without].map { (nginx.url("/a"), $0) })
    #expect(ends.map { $0.image?.body } == [[7], nil, [7], nil])
    #expect(ends.map { $0.failure?.status } == [nil, 400, nil, 400])
  }

  @Test func `a missing client certificate that the handshake requires fails as tls, permanently`() async throws {
    let arguments = ["s_server", "-accept", "127.0.0.1:0", "-key", certificates.serverKey, "-cert", certificates.server, "-www"]
    let server = try Command("/usr/bin/openssl", arguments + ["-Verify", "1", "-CAfile", certificates.authority], input: .open)
    try await server.waitForOutput("ACCEPT 127.0.0.1:")
    let line = server.outputText.split(separator: "\n").first { $0.hasPrefix("ACCEPT") } ?? ""
    let url = "https://127.0.0.1:\(line.split(separator: ":").last ?? "")/"
    let failure = try #require(try await Fetcher().fetch(url, options: options(.with(caFile: certificates.authority))).failure)
    #expect(failure.kind == .tls && !failure.isTransient)
    expectGolden(failure.message)
  }

  @Test func `a client certificate is not sent for another origin's robots.txt`() async throws {
    let nginx = try await nginx(verifiesClients: true)
    let origin = try Origin(["/a": .redirect(to: nginx.url("/a"))], fallback: .status(404))
    let (file, key) = (certificates.client, certificates.clientKey)
    let connection = DownloadOptions.Connection.with(caFile: certificates.authority, clientCertificate: file, clientKey: key)
    _ = try await Fetcher().fetch(origin.url("/a"), options: .forTests(connection: connection, respectsRobots: true))
    try await nginx.waitForRequests(2)
    #expect(nginx.requests == ["GET /robots.txt 400", "GET /a 400"])
  }

  @Test(arguments: ["ca", "certificate", "key"])
  func `an unreadable file fails as tls, permanently, and is named`(which: String) async throws {
    let nginx = try await nginx()
    for (name, text) in [("absent.pem", nil), ("garbage.pem", "garbage")] {
      let file = folder.file(name)
      if let text { folder.write(text, to: name) }
      let connection = DownloadOptions.Connection.with(
        caFile: which == "ca" ? file : certificates.authority,
        clientCertificate: which == "ca" ? nil : which == "certificate" ? file : certificates.client,
        clientKey: which == "ca" ? nil : which == "key" ? file : certificates.clientKey
      )
      let failure = try #require(try await Fetcher().fetch(nginx.url("/a"), options: options(connection)).failure)
      #expect(failure.kind == .tls && !failure.isTransient && failure.message.contains(file))
    }
  }

  @Test func `a key that requires a passphrase is rejected without a prompt`() async throws {
    let nginx = try await nginx()
    let encrypted = folder.file("encrypted.key")
    let arguments = ["pkcs8", "-topk8", "-in", certificates.clientKey, "-out", encrypted, "-passout", "pass:hunter2"]
    _ = try await Command("/usr/bin/openssl", arguments).wait()
    let connection = DownloadOptions.Connection.with(
      caFile: certificates.authority,
      clientCertificate: certificates.client,
      clientKey: encrypted
    )
    let failure = try #require(try await Fetcher().fetch(nginx.url("/a"), options: options(connection)).failure)
    #expect(failure.kind == .tls && failure.message.contains(encrypted))
  }

  @Test(arguments: [true, false]) func `connections are reused, but not with other TLS settings`(http2: Bool) async throws {
    let nginx = try await nginx(http2: http2)
    let other = folder.write(readFile(certificates.authority) ?? [], to: "copy.pem")
    let (file, key) = (certificates.client, certificates.clientKey)
    let all: [DownloadOptions] = [
      options(.with(caFile: certificates.authority)), options(.with(caFile: other)),
      options(.with(caFile: certificates.authority, clientCertificate: file, clientKey: key)),
      .forTests(allowsInvalidTLSCertificates: true, connection: .with(caFile: certificates.authority)),
    ]
    let ends = try await Fetcher().fetchInTurn((all + all).map { (nginx.url("/a"), $0) })
    #expect(ends.map { $0.image?.body } == Array(repeating: [7], count: 8))
    #expect(ends.map { $0.metrics?.reusedConnection } == Array(repeating: false, count: 4) + Array(repeating: true, count: 4))
    // An untrusted certificate was accepted once, and is still rejected by options that verify it.
    let strict = try await Fetcher().fetchInTurn([
      (nginx.url("/a"), .forTests(allowsInvalidTLSCertificates: true)), (nginx.url("/a"), .forTests()),
    ])
    #expect(strict.map { $0.failure?.kind } == [nil, .tls])
  }

  @Test func `a key without a certificate, or an empty file name, is rejected`() {
    #expect(DownloadOptions.Connection.with(clientKey: "k").invalidReason?.hasPrefix("tls: ") == true)
    #expect(DownloadOptions.Connection.with(caFile: "").invalidReason?.hasPrefix("tls: ") == true)
    #expect(DownloadOptions.Connection.with(clientCertificate: "a\0b").invalidReason?.hasPrefix("tls: ") == true)
  }
}
