import TestOrigin
import TestSupport

extension FaultRow {
  /// nginx with TLS, and the trust between it and prewarm.
  static let encrypted: [FaultRow] = [
    .nginx("a private authority, over HTTP/2", outcome: "downloaded", trusts: .its) { scene in
      scene.options += ["--set", "request.http=2"]
    },
    .nginx("an authority that is not trusted", kind: "tls", "certificate", trusts: .theSystems),
    .nginx("an authority other than the trusted one", kind: "tls", "certificate", trusts: .another),
    .nginx("a certificate for another name", kind: "tls", "certificate", trusts: .its) { scene in
      let port = scene.urls.removeLast().split(separator: ":").last?.prefix { $0 != "/" } ?? ""
      scene.urls.append("https://image.invalid/fault.jpg")
      scene.options += ["--set", "request.connect-to=['image.invalid:443:127.0.0.1:\(port)']"]
    },
    .nginx("an untrusted authority without verification", outcome: "downloaded", trusts: .theSystems) { scene in
      scene.options += ["--set", "request.tls.verify=false"]
    },
    .nginx("a server without the required HTTP/2", kind: "connect", "doesn't support HTTP/2", http2: false) { scene in
      scene.options += ["--set", "request.http=2"]
    },
    .nginx("a required client certificate that is sent", outcome: "downloaded", asksClients: true, shows: .its),
    .nginx("a required client certificate that is missing", kind: "http-status", "400 Bad Request", asksClients: true),
    .nginx(
      "a client certificate of another authority",
      kind: "http-status",
      "400 Bad Request",
      asksClients: true,
      shows: .another
    ),
    .nginx("an invalid key", kind: "tls", "cannot use the client certificate", asksClients: true, shows: .its) { scene in
      scene.job.folder.write("no key\n", to: "no.key")
      scene.options += ["--set", "request.tls.client-key=no.key"]
    },
    .nginx("invalid trusted certificates", kind: "tls", "no.pem as PEM", trusts: .theSystems) { scene in
      scene.job.folder.write("no certificate\n", to: "no.pem")
      scene.options += ["--set", "request.tls.ca-file=no.pem"]
    },
    .nginx("missing trusted certificates", exit: 1, "absent.pem", trusts: .theSystems) { scene in
      scene.options += ["--set", "request.tls.ca-file=absent.pem"]
    },
  ]

  /// The authority that signed a certificate.
  private enum Authority {
    case its, another, theSystems
  }

  private static func nginx(
    _ fault: String,
    outcome: String? = nil,
    exit: Int? = nil,
    kind: String? = nil,
    _ says: String = "",
    http2: Bool = true,
    asksClients: Bool = false,
    trusts: Authority = .its,
    shows: Authority? = nil,
    _ further: @escaping @Sendable (FaultScene) -> Void = { _ in }
  ) -> FaultRow {
    FaultRow(
      part: "network",
      fault: "TLS: \(fault)",
      outcome: kind == nil ? outcome : "failed",
      kind: kind,
      exit: exit ?? (kind == nil ? 0 : 2),
      says: says
    ) { scene in
      let certificates = try await Certificates.shared.value
      let others = try await Certificates.others.value
      let folder = TemporaryDirectory()
      folder.write(SampleImages.jpeg(9), to: "fault.jpg")
      let nginx = try await Nginx(
        serving: folder.path,
        directives: http2 ? "if ($server_protocol != \"HTTP/2.0\") { return 505; }" : "",
        tls: .init(certificates, offersHTTP2: http2, verifiesClients: asksClients)
      )
      scene.kept += [folder, nginx]
      scene.urls.append(nginx.url("/fault.jpg"))
      if trusts != .theSystems {
        let trusted = trusts == .its ? certificates : others
        scene.options += ["--set", "request.tls.ca-file=\(trusted.authority)"]
      }
      if let shows {
        let shown = shows == .its ? certificates : others
        scene.options += ["--set", "request.tls.client-certificate=\(shown.client)"]
        scene.options += ["--set", "request.tls.client-key=\(shown.clientKey)"]
      }
      further(scene)
    }
  }
}

extension Certificates {
  /// Certificates of all servers of the table, and untrusted ones; shared since making them takes a while.
  static let shared = Task { try await Certificates() }
  static let others = Task { try await Certificates() }
}
