import TestOrigin
import TestSupport

extension FaultRow {
  /// nginx with TLS, whom it trusts and who trusts it.
  static let encrypted: [FaultRow] = [
    .nginx("an authority of its own, over HTTP/2", outcome: "downloaded", trusts: .its) { scene in
      scene.options += ["--set", "request.http=2"]
    },
    .nginx("an authority that is not trusted", kind: "tls", "certificate", trusts: .theSystems),
    .nginx("another authority than the trusted one", kind: "tls", "certificate", trusts: .another),
    .nginx("a certificate of another name", kind: "tls", "certificate", trusts: .its) { scene in
      let port = scene.urls.removeLast().split(separator: ":").last?.prefix { $0 != "/" } ?? ""
      scene.urls.append("https://image.invalid/fault.jpg")
      scene.options += ["--set", "request.connect-to=['image.invalid:443:127.0.0.1:\(port)']"]
    },
    .nginx("an authority that is not trusted, and need not be", outcome: "downloaded", trusts: .theSystems) { scene in
      scene.options += ["--set", "request.tls.verify=false"]
    },
    .nginx("a server without the HTTP/2 that is asked for", kind: "connect", "doesn't support HTTP/2", http2: false) { scene in
      scene.options += ["--set", "request.http=2"]
    },
    .nginx("a client certificate is asked for, and shown", outcome: "downloaded", asksClients: true, shows: .its),
    .nginx("a client certificate is asked for, and there is none", kind: "http-status", "400 Bad Request", asksClients: true),
    .nginx(
      "a client certificate of another authority",
      kind: "http-status",
      "400 Bad Request",
      asksClients: true,
      shows: .another
    ),
    .nginx("a key that is none", kind: "tls", "cannot use the client certificate", asksClients: true, shows: .its) { scene in
      scene.job.folder.write("no key\n", to: "no.key")
      scene.options += ["--set", "request.tls.client-key=no.key"]
    },
    .nginx("trusted certificates that are none", kind: "tls", "no.pem as PEM", trusts: .theSystems) { scene in
      scene.job.folder.write("no certificate\n", to: "no.pem")
      scene.options += ["--set", "request.tls.ca-file=no.pem"]
    },
    .nginx("trusted certificates that are not there", exit: 1, "absent.pem", trusts: .theSystems) { scene in
      scene.options += ["--set", "request.tls.ca-file=absent.pem"]
    },
  ]

  /// Whose certificates are meant.
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
  /// Those of all servers of the table, and those of nobody, since it takes a while to make them.
  static let shared = Task { try await Certificates() }
  static let others = Task { try await Certificates() }
}
