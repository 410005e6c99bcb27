import Lists
import TestSupport
import Testing
import Jobs

private let numbers = (1...40).map(String.init).joined(separator: ", ")

/// Keys of a manifest that change URLs.
@Suite struct JobTemplatesTests {
  private static let secrets = [
    "HOME": "/home/user", "IMGPROXY_KEY": "736563726574", "IMGPROXY_SALT": "68656c6c6f", "SECRET": "hunter2", "EMPTY": "",
  ]

  /// A job whose manifest has these keys, one per line.
  private func text(_ keys: String) -> String {
    "version: 1\nname: homepage\nmanifests:\n  - path: a.txt\n"
      + keys.split(separator: "\n").map { "    \($0)\n" }.joined()
  }

  private func mistakes(_ keys: String) -> [String] { JobsTests.mistakes(in: text(keys), environment: Self.secrets) }

  @Test func `templates, their variables in order, and signatures reach the job`() throws {
    let job = try job(
      text(
        """
        template: "https://img.example.com/{w}/{fm}/{url-encoded}?{x}"
        expand: {w: [320, 0640], fm: [avif, "webp"], x: [true, ""]}
        sign: {service: imgproxy, key-env: IMGPROXY_KEY, salt-env: IMGPROXY_SALT}
        """
      ),
      environment: Self.secrets
    )
    let manifest = try #require(job.manifests.first)
    #expect(manifest.template == "https://img.example.com/{w}/{fm}/{url-encoded}?{x}")
    #expect(
      manifest.expand == [
        .init(name: "w", values: ["320", "0640"]), .init(name: "fm", values: ["avif", "webp"]),
        .init(name: "x", values: ["true", ""]),
      ]
    )
    #expect(manifest.sign?.service == .imgproxy && manifest.sign?.key == "736563726574" && manifest.sign?.salt == "68656c6c6f")
  }

  @Test func `a template may stand alone, and so may a signature`() throws {
    #expect(mistakes("template: \"{url}?w=320\"") == [])
    #expect(mistakes("template: none\nexpand: {}\nsign: none") == [])
    #expect(mistakes("sign: {service: cloudinary, key-env: SECRET}") == [])
    #expect(mistakes("template: \"https://i.example.com/{signature}/{path}\"\nsign: {service: thumbor, key-env: SECRET}") == [])
  }

  @Test(
    arguments: [
      "template: \"{url}?w={w}\"", "template: \"{url}?w={wdth}\"\nexpand: {width: [1]}",
      "template: \"{url}?w={w\"\nexpand: {w: [1]}", "template: \"{url}?w=}\"", "template: \"{url}\"\nexpand: {w: [1], h: [2]}",
      "expand: {w: [1]}", "template: \"{w}\"\nexpand: {w: []}", "template: \"{w}{path}\"\nexpand: {w: [1], path: [2]}",
      "template: \"{url}{a}{b}\"\nexpand: {a: [\(numbers)], b: [\(numbers)]}", "template: \"{url}?w={w}\"\nexpand: {w: 320}",
      "template: \"{url}?w={w}\"\nexpand: [w]", "template: \"{url}?w={w}\"\nexpand: {w: [[1]]}",
      "template: [a]\nexpand: {w: [1]}", "template: \"https://i.example.com/{signature}/{path}\"",
      "template: \"{url}?{${SECRET}}\"", "sign: imgproxy", "sign: {service: imgproxy, key-env: IMGPROXY_KEY}",
      "sign: {service: imgproxy, key-env: SECRET, salt-env: IMGPROXY_SALT}",
      "sign: {service: imgproxy, key-env: IMGPROXY_KEY, salt-env: SECRET}",
      "sign: {service: thumbor, key-env: SECRET, salt-env: IMGPROXY_SALT}", "sign: {service: thumbor, key-env: EMPTY}",
      "sign: {service: thumbor, key-env: NOT_SET}", "sign: {service: imgproxi, key-env: IMGPROXY_KEY, salt-env: IMGPROXY_SALT}",
      "sign: {key-env: SECRET}", "format: page\nlazy-attributes: [data-image, \"data image\"]",
      "format: text\nlazy-attributes: [data-image]",
    ]
  )
  func `mistakes of templates and signatures are located`(keys: String) {
    let found = mistakes(keys)
    #expect(found.count == 1)
    expectGolden(found.first, for: keys)
    #expect(!found.joined().contains("hunter2"))
  }

  @Test(
    arguments: [
      "sign: {service: thumbor, key-env: hunter2 x}", "sign: {service: thumbor, key: hunter2}", "sign: hunter2",
      "sign: {service: thumbor, key-env: SECRET, salt-env: hunter2}", "sgn: {key-env: hunter2}", "salt: hunter2",
      "template: \"https://me:hunter2@i.example.com/{x}\"",
    ]
  )
  func `no message, description or digest has a secret`(keys: String) throws {
    let errors = try #require(throws: JobFileErrors.self) { try job(text(keys), environment: Self.secrets) }
    #expect(!errors.formatted(color: false).contains("hunter2"))
  }

  @Test func `options and the job's text don't show a signing key`() throws {
    let setting = try #require(JobOverride(setting: "manifests.0.sign={service: thumbor, key-env: hunter2 x}"))
    let errors = try #require(throws: JobFileErrors.self) { try job(shortestJob, [setting], environment: Self.secrets) }
    #expect(!errors.formatted(color: false).contains("hunter2"))
    let signed = try job(text("sign: {service: thumbor, key-env: SECRET}"), environment: Self.secrets)
    var shown = ""
    dump(signed.manifests, to: &shown)
    #expect(!shown.contains("hunter2"))
  }

  @Test func `attributes of images that load later reach pages`() throws {
    let job = try job(text("format: page\nlazy-attributes: [data-image, data-image-srcset]"), environment: Self.secrets)
    #expect(job.manifests.first?.list.lazyAttributes == ["data-image", "data-image-srcset"])
    #expect(mistakes("lazy-attributes: [\(PageRules.usualLazyAttributes.joined(separator: ", "))]") == [])
  }
}
