import Base
import Foundation
import Glibc
import TestOrigin
import TestSupport
import Testing

@testable import prewarm

/// What a run can't do any more once it talks to servers.
@Suite struct SandboxTests {
  private let origin = makeImageOrigin()

  /// What `Tests/Preloads/attacker.c` tries, as root; a container may forbid some of it anyway.
  private static let deeds: Set<String> = [
    "reads a secret", "reads /etc/shadow", "lists a folder", "writes a file", "makes a file", "makes a file in /tmp",
    "removes a file",
    "makes a folder", "cuts a file", "changes a mode", "executes", "traces", "reads its parent", "signals its parent", "unshares",
    "makes a namespace", "makes a namespace by clone3", "mounts", "clones a mount", "loads BPF", "uses io_uring",
    "handles faults",
    "watches the processor", "has keys", "listens", "talks to services", "talks to the firewall", "sends packets",
  ]

  /// Runs a job with all kinds of threads under attack until a signal stops it, and returns the deeds of each thread.
  private func attack(_ options: String...) async throws -> [String: Set<String>] {
    let (job, outside) = (JobFolder(urls: imageURLs(origin, 0..<60)), TemporaryDirectory())
    outside.write("secret", to: "secret")
    origin.set("/list.txt", .text("\(origin.url("/images/90.jpg"))\n\(origin.url("/held.jpg"))\n", type: "text/plain"))
    let gate = origin.hold("/held.jpg")
    job.writeJob(
      """
      manifests: [{path: urls.txt}, {url: "\(origin.url("/list.txt"))"}]
      verify: {decode: full}
      transform: {resize: {width: 10}}
      cache: {memory: {max-cost: 10MiB}}
      report: [{html: report.html}, {json: report.json}]
      request: {stall-timeout: 10m, timeout: 10m}
      """
    )
    let environment = ["PREWARM_OUTSIDE": outside.path, "PREWARM_RECORD": job.folder.file("record"), "HOME": outside.path]
    let script = "export LD_PRELOAD=\(Preload.attacker.path)"
    let command = try job.start(["run", "job.yaml"] + options, environment: environment, after: script)
    try await gate.waitForWaiting(1)
    try await poll("the other images") { origin.requests.count >= 62 }
    command.send(SIGTERM)
    try await command.waitForError("finish")
    gate.open()
    let result = try await command.wait()
    #expect(result.status == 143 && job.folder.read("report.html") != nil, "\(result.errorText)")
    var found: [String: Set<String>] = [:]
    for line in String(decoding: job.folder.read("record") ?? [], as: UTF8.self).split(separator: "\n") {
      let parts = line.split(separator: ":", maxSplits: 1).map { $0.drop { $0 == " " } }
      found[String(parts[0]), default: []].insert(String(parts[1]))
    }
    return found
  }

  @Test(.enabled(if: Confinement.found.hasPrefix("Landlock") && getuid() == 0, "needs Landlock, and root, who may do all of it"))
  func `no thread of a run reaches other files, programs, processes and services, unless the sandbox is off`() async throws {
    let confined = try await attack()
    #expect(confined.values.allSatisfy { $0 == ["-"] }, "\(confined)")
    let threads = ["prewarm", "signals", "transfer", "store", "coding-0", "contact-sheet", "manifests"]
    #expect(Set(threads).subtracting(confined.keys) == [], "\(confined.keys)")
    let free = try await attack("--no-sandbox")
    for thread in threads { #expect(Self.deeds.subtracting(free[thread] ?? []) == [], "\(thread)") }
  }

  @Test func `every thread of a run is filtered, and none can get privileges`() async throws {
    let gate = origin.holdAll()
    let job = JobFolder(urls: imageURLs(origin, 0..<4))
    let command = try job.startJob(isHeld: true)
    try await gate.waitForWaiting(4)
    let tasks = "/proc/\(command.processID)/task"
    for task in try FileManager.default.contentsOfDirectory(atPath: tasks) {
      let status = try String(contentsOfFile: "\(tasks)/\(task)/status", encoding: .utf8)
      #expect(status.contains("NoNewPrivs:\t1\n") && status.contains("Seccomp:\t2\n"), "\(status)")
    }
    gate.open()
    #expect(try await command.wait().status == 0)
  }

  @Test func `a list that is replaced during the run is refused with the reason`() async throws {
    let gate = origin.holdAll()
    let job = JobFolder(urls: imageURLs(origin, 0..<1))
    job.write(urls: imageURLs(origin, 1..<2), to: "later.txt")
    job.writeJob("manifests: [{path: later.txt}]", name: "later")
    let command = try job.start(["run", "job.yaml", "later.yaml"] + JobFolder.patience)
    try await gate.waitForWaiting(1)
    job.write(urls: imageURLs(origin, 2..<3), to: "new.txt")
    #expect(rename(job.folder.file("new.txt"), job.folder.file("later.txt")) == 0)
    gate.open()
    let result = try await command.wait()
    #expect(result.status == (Confinement.found.hasPrefix("Landlock") ? 1 : 0), "\(result.errorText)")
    expectGolden(result.errorText.lines(with: "later.txt"))
  }

  @Test func `doctor shows the sandbox, and an invalid value ends commands with 3`() async throws {
    let job = JobFolder(urls: [])
    #expect(try await job.prewarm("doctor").outputText.contains("\nsandbox       \(Confinement.found)\n"))
    let off = try await job.prewarm("doctor", environment: ["PREWARM_SANDBOX": "off"])
    #expect(off.outputText.contains("\nsandbox       off (PREWARM_SANDBOX)\n"))
    let refused = try await job.prewarm("run urls.txt", environment: ["PREWARM_SANDBOX": "on"])
    #expect(refused.status == 3)
    expectGolden(refused.errorText)
  }

  @Test func `no output, report, cache file or core dump of a run has a secret of its job`() async throws {
    let (secret, key) = ("hunter2", "5ec2e75ec2e75ec2e75ec2e75ec2e75e")
    let receivers = try Origin(fallback: .status(403, body: Array("not \(secret)".utf8)))
    origin.set("/own.jpg", .jpeg(1, headers: ["Set-Cookie": "id=\(secret); Path=/"]))
    origin.set("/away.jpg", .redirect(to: origin.url("/gone.jpg").replacing("http://", with: "http://alice:\(secret)@")))
    let job = JobFolder(
      """
      manifests:
        - {path: urls.txt}
        - {path: names.txt, template: "\(origin.url("/signed"))/{url}", sign: {service: thumbor, key-env: KEY}}
      request: {retries: 0, cookies: true, headers: {X-Token: "${SECRET}"}, auth: {username: alice, password-env: SECRET}}
      hosts: {"127.0.0.1:\(origin.ports[0])": {headers: {X-Host: \(secret)}}}
      prefetch: {concurrency: 1}
      verify: {decode: full}
      report: [{text: "-"}, {json: report.json}, {jsonl: rows.jsonl}, {html: report.html}, {junit: report.xml}, {markdown: report.md}]
      notify:
        - {webhook: {url-env: HOOK, secret-env: SECRET}, when: always}
        - {slack: {url-env: HOOK}, when: always}
        - {email: {server: "smtp://127.0.0.1:1", from: a@b.test, to: [c@d.test], username: alice, password-env: SECRET}, when: always}
      """
    )
    let bad = origin.url("/gone.jpg").replacing("http://", with: "http://bob:\(secret)@")
    job.write(
      urls: ["/own.jpg", "/away.jpg"].map { origin.url($0) } + [bad, "ftp://bob:\(secret)@h/"] + imageURLs(origin, 2..<5)
    )
    job.write(urls: ["a.jpg"], to: "names.txt")
    let environment = ["SWIFT_BACKTRACE": "enable=no", "SECRET": secret, "KEY": key, "HOOK": receivers.url("/\(secret)")]
    let words = [
      secret, key, Data("alice:\(secret)".utf8).base64EncodedString(), Data("bob:\(secret)".utf8).base64EncodedString(),
    ]

    let result = try await job.start(["run", "job.yaml", "--verbose"], environment: environment).wait()
    #expect(result.status == 2, "\(result.errorText)")
    #expect(origin.requests.contains { $0.headers["X-Host"] == secret } && receivers.requests.count == 2)
    #expect(job.places(of: words, result) == [])

    /// Crashes a run, and returns the places with secrets.
    func crash(_ options: String...) async throws -> [String] {
      let gate = origin.hold("/held\(options.count).jpg")
      job.write(urls: [origin.url("/held\(options.count).jpg")])
      let arguments = ["run", "job.yaml"] + JobFolder.patience + options
      let command = try job.start(arguments, environment: environment, after: "ulimit -c unlimited")
      try await gate.waitForWaiting(1)
      command.send(SIGSEGV)
      let result = try await command.wait()
      #expect(result.ending == .signalled(SIGSEGV))
      return job.places(of: words, result)
    }
    #expect(try await crash() == [])
    let dumps = readText("/proc/sys/kernel/core_pattern")?.hasPrefix("core") == true
    if dumps { #expect(try await crash("--no-sandbox").contains { $0.hasPrefix("core") }) }
  }

  // MARK: Versions

  @Test func `versions are compared as dpkg does`() {
    // deb-version(7), and the tests of dpkg.
    let ordered = [
      "0~rc1-1", "0-1", "1.0~~-1", "1.0~beta1-1", "1.0-1~deb12u2", "1.0-1", "1.0-1a", "1.0-1+deb12u1", "1.0-1+deb12u4",
      "1.0-1+deb12u15", "1.0-2", "1.0a-1", "1.0+dfsg-1", "1.0.1-1", "1.2-1", "1.10-1", "1:0.1-1", "2:0.1-1",
    ]
    for (index, version) in ordered.enumerated() {
      for (other, later) in ordered.enumerated() {
        #expect((DebianVersion(version[...]) < DebianVersion(later[...])) == (index < other), "\(version) \(later)")
      }
    }
  }

  @Test func `doctor warns of packages and releases with a grave hole, but not of unknown ones`() {
    let known = [
      "/usr/lib/libwebp.so.7.1.5 (libwebp7 1.2.4-0.2)", "/usr/lib/libcurl.so.4.8.0 (libcurl4 7.88.1-10+deb12u3)",
      "/usr/lib/libpng16.so.16.39.0 (libpng16-16 1.6.39-2+deb12u4)", "/usr/lib/libwebpdemux.so.2 (libwebpdemux2 1.2.4-0.2)",
      // Other releases and distributions have their own fixes.
      "/usr/lib/libheif.so.1.12.0 (libheif1 1.12.0-2+deb11u1)", "/usr/lib/libtiff.so.6 (libtiff6 4.5.0-5ubuntu1)",
    ]
    expectGolden(KnownFlaw.warnings(known, releases: [:]).joined(separator: "\n"))
    let bare = KnownFlaw.warnings(["/opt/lib/libwebp.so.7"], releases: ["libwebp": "1.3.1", "libcurl": "8.4.0"])
    expectGolden(bare.joined(separator: "\n"))
  }
}
