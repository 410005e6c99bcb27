import ArgumentParser
import Base
import CConfinement
import Glibc
import ImageDownloading
import Jobs
import Reports

struct SandboxFlag: ParsableArguments {
  @Flag(help: "Keep the right to use other files and programs during the run")
  var noSandbox = false

  /// Nil if this option or PREWARM_SANDBOX switches it off.
  func confinement() throws -> Confinement? { try Confinement.isOn() && !noSandbox ? Confinement() : nil }
}

/// What this process gives up for good before the first byte of a server: the files that its jobs don't need, other programs and
/// processes, and most of the kernel. A library with a hole that decodes an image, or reads a page, can then do less harm.
///
/// Landlock limits files for the thread that asks for it and for those that it starts. So it comes before all threads but that of
/// signals, which gives up all files itself. The network stays: URLs and redirects have any host and port. So does what the process has
/// in memory.
final class Confinement {
  /// A folder for parts of lists, which no other process uses: in the one of TMPDIR, other files would have to stay open to this run.
  /// It is made when the run begins.
  private(set) lazy var spoolFolder: String = {
    let folder = temporaryFolder()
    // Messages name a folder that can't be used, and not one in it.
    isSpooling = access(folder, W_OK | X_OK) == 0
    return isSpooling ? "\(folder)/prewarm-\(String(UInt64.random(in: .min ... .max), radix: 36))" : folder
  }()
  private var isSpooling = false

  deinit { if isSpooling { rmdir(spoolFolder) } }

  static func isOn() throws -> Bool {
    switch JobLoading.environment["PREWARM_SANDBOX"] {
    case nil, ""?: return true
    case "off"?: return false
    case let value?:
      throw CommandError(.misused, "PREWARM_SANDBOX: '\(named(value))' isn't a value; set it to off, or not at all")
    }
  }

  /// Gives up all files, for a thread that needs none.
  static func giveUpFiles() { _ = confinement_limit_files(nil, 0) }

  /// Gives up all but `files` and what the libraries need. Returns a sentence if the kernel can't do all of it.
  func begin(keeping files: JobFiles) -> String? {
    var uses: [(paths: [String], use: Int)] = [
      (files.read + Self.systemFiles, CONFINEMENT_READ.use),
      (files.written + ["/dev/null"], CONFINEMENT_READ.use | CONFINEMENT_WRITE.use),
      (files.named, CONFINEMENT_NAME.use),
    ]
    let all = CONFINEMENT_READ.use | CONFINEMENT_WRITE.use | CONFINEMENT_NAME.use | CONFINEMENT_ARRANGE.use
    uses.append((files.changed, all))
    if isSpooling {
      mkdir(spoolFolder, 0o700)
      uses += [([spoolFolder], all), ([temporaryFolder()], CONFINEMENT_REMOVE_FOLDER.use)]
    }
    let paths = uses.flatMap { group in group.paths.map { (strdup($0), Int32(group.use)) } }
    defer { for (path, _) in paths { free(path) } }
    let limited = confinement_limit_files(paths.map { confinement_path(path: $0.0, uses: $0.1) }, paths.count)
    let filtered = confinement_limit_calls(Self.resolvesByLocalService)
    return Self.lacking(files: limited == 0, calls: filtered == 0).map { "sandbox: \($0)" }
  }

  /// What works here; measured, since containers and settings may forbid either.
  static var found: String {
    var (files, calls) = (false, false)
    confinement_try(&files, &calls)
    return lacking(files: files, calls: calls) ?? "Landlock \(confinement_landlock_version()), seccomp"
  }

  /// Nil if nothing is missing.
  private static func lacking(files: Bool, calls: Bool) -> String? {
    switch (files, calls) {
    case (true, true): nil
    case (true, false): "Landlock \(confinement_landlock_version()) only; this system has no seccomp"
    case (false, true): "seccomp only; this system has no Landlock, or one before Linux 5.19"
    case (false, false): "none; this system has neither Landlock nor seccomp"
    }
  }
}

// MARK: The files that libraries read
extension Confinement {
  /// Of libraries that are loaded later, the resolver and TLS.
  private static var systemFiles: [String] {
    let environment = JobLoading.environment
    let variables = ["LD_LIBRARY_PATH", "OPENSSL_CONF", "OPENSSL_MODULES", "TZDIR"].compactMap { environment[$0] }
    let certificates = [SystemCertificates.found.file, SystemCertificates.found.folder].compactMap(\.self)
    return ["/usr", "/lib", "/lib32", "/lib64", "/proc/self", "/sys/devices/system/cpu", "/dev/urandom", bundledLibraries]
      + variables.flatMap { $0.split(separator: ":").map(String.init) } + certificates + settings
  }

  /// The folder of libraries beside the command's own, as in the relocatable package.
  private static var bundledLibraries: String {
    guard let path = realpath("/proc/self/exe", nil) else { return "/usr" }
    defer { free(path) }
    return "\(String(cString: path).split(separator: "/").dropLast(2).map { "/\($0)" }.joined())/lib"
  }

  /// Users other than root can read nothing in /etc that is secret to them. A rule for each file would be lost when one is replaced, such
  /// as resolv.conf by a DHCP client; then nothing would be resolved any more.
  private static var settings: [String] {
    // It often is a link to a file that is replaced as well.
    let resolver = realpath("/etc/resolv.conf", nil).map { path in
      defer { free(path) }
      return String(cString: path)
    }
    let folder = resolver.flatMap { $0.hasPrefix("/run/") ? String($0[..<$0.lastIndex(of: "/")!]) : nil }
    if geteuid() != 0 { return ["/etc"] + [folder].compactMap(\.self) }
    let names = [
      "resolv.conf", "hosts", "nsswitch.conf", "host.conf", "gai.conf", "services", "protocols", "ld.so.cache", "localtime",
      "ssl/openssl.cnf", "ssl/certs", "ca-certificates", "pki/tls/openssl.cnf", "pki/tls/certs", "pki/ca-trust",
      "crypto-policies",
    ]
    return names.map { "/etc/\($0)" } + [folder].compactMap(\.self)
  }

  /// Whether hosts are resolved by a service of this machine and not by DNS (nsswitch.conf(5)). Those who have DNS, too, go on with it.
  private static var resolvesByLocalService: Bool {
    let lines = (readText("/etc/nsswitch.conf", limit: 1 << 16) ?? "").split(separator: "\n")
    guard let hosts = lines.first(where: { $0.hasPrefix("hosts:") }) else { return false }
    return !hosts.split(whereSeparator: { " \t".contains($0) }).contains("dns")
  }
}

extension confinement_use {
  fileprivate var use: Int { Int(rawValue) }
}
