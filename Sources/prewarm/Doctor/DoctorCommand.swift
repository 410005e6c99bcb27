import ArgumentParser
import Base
import Glibc
import ImageCaching
import ImageCoding
import ImageDownloading
import Jobs
import Reports

/// `prewarm doctor`: shows what prewarm finds on this machine, without network.
struct DoctorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Show what prewarm finds on this machine",
    discussion: """
      Shows the version, libraries, formats, HTTP/2, the cache folder and its file system, limits, the proxy and the CA certificates, for \
      bug reports. Requests nothing and changes nothing.

      Exits with 1 if runs would fail here: without CA certificates, or if the cache can't be opened.

      EXAMPLES:
        prewarm doctor
        prewarm doctor --job homepage.yaml --json
      """
  )

  @OptionGroup(title: "Cache")
  var options: CacheOptions

  func run() throws {
    var findings = Findings()
    findings.add("prewarm", Machine.commit.map { "\(PrewarmVersion.current), commit \($0)" } ?? PrewarmVersion.current)
    findings.add("system", Machine.system)
    findings.add("processors", "\(sysconf(Int32(_SC_NPROCESSORS_ONLN)))")
    findings.add("memory", Machine.memory)
    findings.add("open files", Machine.openFiles)
    findings.add("sandbox", try Confinement.isOn() ? Confinement.found : "off (PREWARM_SANDBOX)")
    addCodecs(to: &findings)
    findings.add("libcurl", ImageDownloader.libraries)
    findings.add("HTTP/2", ImageDownloader.supportsHTTP2 ? "yes" : "no; libcurl was built without nghttp2")
    let libraries = Machine.libraries
    findings.add("libraries", options.json ? libraries : libraries.filter(Self.isOwn).map(Self.name))
    findings.add("warnings", KnownFlaw.warnings(libraries, releases: Self.releases))
    addCache(to: &findings)
    let certificates = SystemCertificates.found
    findings.add("certificates", [certificates.file, certificates.folder].compactMap(\.self))
    if certificates.isEmpty {
      findings.addProblem("there are no CA certificates, so https URLs can't be loaded; install ca-certificates")
    } else if let file = certificates.file, access(file, R_OK) != 0 {
      findings.addProblem("cannot read the CA certificates in \(file): \(errorSentence())")
    }
    findings.add("problems", findings.problems)
    try options.json ? printJSON(findings.json) : printData(findings.text)
    if !findings.problems.isEmpty { throw ExitCode(ExitStatus.couldNotFinish.rawValue) }
  }

  private static var releases: [String: String] {
    // Such as "libcurl/7.88.1 OpenSSL/3.0.11".
    let curl = ImageDownloader.libraries.split(separator: " ").first?.split(separator: "/").last
    return ["libcurl": curl.map(String.init) ?? "", "libwebp": ImageCoderRegistry.webPRelease]
  }

  /// Whether prewarm uses the library itself; text omits those that others use.
  private static func isOwn(_ library: String) -> Bool {
    let names = [
      "avif", "crypto", "curl", "de265", "expat", "gif", "gumbo", "heif", "jansson", "jpeg", "jxl", "lmdb", "nghttp2", "png16",
      "ssl",
      "tiff", "webp", "webpdemux", "webpmux", "xxhash", "yaml-0", "z",
    ]
    return names.contains { library.contains("/lib\($0).so") }
  }

  /// The library without its folder, if that is one of the system's.
  private static func name(_ library: String) -> String {
    let folder = library.prefix { $0 != " " }.lastIndex(of: "/").map { library[..<$0] } ?? ""
    return folder.hasPrefix("/usr/lib/") ? String(library.dropFirst(folder.count + 1)) : library
  }

  /// The formats that can be decoded here, and why others can't.
  private func addCodecs(to findings: inout Findings) {
    var (good, missing): ([String], [String]) = ([], [])
    for format in ImageFormat.allCases {
      switch ImageCoderRegistry.standard.whyUnavailable(format) {
      case nil: good.append(format.name)
      case let reason?: missing.append("\(format.name): \(reason)")
      }
    }
    findings.add("formats", good.joined(separator: ", "))
    findings.add("not decoded", missing)
  }

  private func addCache(to findings: inout Findings) {
    do {
      let (cache, job) = try options.openIfThere()
      let folder = job.cache.disk.directory
      findings.add("cache", Machine.place(of: folder))
      if let cache {
        let totals = try cache.blocking.totals()
        findings.add("cached", "\(totals.entries) images, \(byteCount(Double(totals.bodyBytes)))")
      }
      if let refusal = Machine.refusal(of: folder) {
        findings.addProblem("cannot write to the cache folder \(folder): \(refusal)")
      }
      findings.add("proxy", job.proxyInUse)
    } catch {
      findings.addProblem(jobSentence(of: error))
    }
  }
}

/// What was found, in order; a name has one text or a list.
private struct Findings {
  private var rows: [(name: String, texts: [String], isList: Bool)] = []
  private(set) var problems: [String] = []

  mutating func add(_ name: String, _ text: String) { rows.append((name, [text], false)) }
  mutating func add(_ name: String, _ texts: [String]) { rows.append((name, texts, true)) }
  mutating func addProblem(_ sentence: String) { problems.append(sentence) }

  var json: JSONTree {
    .object(rows.map { row in (row.name, row.isList ? .strings(row.texts) : .string(row.texts[0])) })
  }

  var text: String {
    let width = (rows.map(\.name.count).max() ?? 0) + 2
    return rows.flatMap { row in
      row.texts.enumerated().map { index, text in
        let name = index == 0 ? row.name : ""
        return name + String(repeating: " ", count: width - name.count) + escapedForTerminal(text) + "\n"
      }
    }.joined()
  }
}

extension Job {
  /// The proxy of requests, without its password.
  fileprivate var proxyInUse: String {
    switch request.download.connection.proxy {
    case .none: return "none (request.proxy)"
    case .url(let url): return maskingCredentials(url)
    case .environment:
      let names = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"]
      let set = names.compactMap { name in getenv(name).map { "\(name)=\(maskingCredentials(String(cString: $0)))" } }
      return set.isEmpty ? "none (no variable of the environment)" : set.joined(separator: " ")
    }
  }
}
