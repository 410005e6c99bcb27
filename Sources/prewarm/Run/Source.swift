import Base
import Glibc
import Lists
import Jobs

/// The meaning of a SOURCE on the command line.
enum Source {
  /// A job file: its lists and its rules.
  case job(path: String)
  case manifest(Job.List)
  case url(String)

  /// Why an argument isn't a source, as one sentence.
  struct SourceError: Error {
    let sentence: String
  }

  /// Throws if the argument is neither an http or https URL nor a readable file or folder.
  init(_ argument: String) throws(SourceError) {
    if argument == "-" {
      self = .manifest(Job.List(named: argument))
    } else if Self.hasScheme(argument) {
      self = try Self.source(ofURL: argument)
    } else if [".yaml", ".yml"].contains(where: argument.lowercased().hasSuffix) {
      // Loading the file reports its errors.
      self = .job(path: argument)
    } else {
      try Self.checkFile(argument)
      self = .manifest(Job.List(named: argument))
    }
  }

  private static func source(ofURL argument: String) throws(SourceError) -> Source {
    do throws(InvalidURL) {
      let url = try BaseURL(argument)
      if url.bytes.withUnsafeBytes(ImageExtension.ends) { return .url(argument) }
      var manifest = Job.List(url)
      if let format = listFormat(url) {
        manifest.list.format = format
      } else {
        manifest.list.isOfAnyKind = true
      }
      return .manifest(manifest)
    } catch {
      throw SourceError(sentence: "\(named(argument)): \(error.message)")
    }
  }

  /// The format of the list at `url` by the end of its path; nil if the response decides what it is.
  private static func listFormat(_ url: BaseURL) -> URLList.Format? {
    let path = String(decoding: url.bytes.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self).lowercased()
    let name = path.hasSuffix(".gz") ? path.dropLast(3) : path[...]
    return [".xml", ".txt", ".csv", ".tsv", ".jsonl"].contains(where: name.hasSuffix) ? .auto : nil
  }

  /// Whether an argument that isn't a command looks like a source.
  static func isLikely(_ argument: String) -> Bool {
    argument == "-" || hasScheme(argument) || argument.utf8.contains(where: "./*?[".utf8.contains)
      || access(argument, F_OK) == 0
  }

  /// Whether it begins as `https://` does (RFC 3986, section 3.1).
  private static func hasScheme(_ text: String) -> Bool {
    guard let colon = text.firstRange(of: "://"), let first = text.utf8.first, isLetter(first) else { return false }
    return text[..<colon.lowerBound].utf8.allSatisfy { isLetter($0) || $0 &- UInt8(ascii: "0") < 10 || "+-.".utf8.contains($0) }
  }

  private static func isLetter(_ byte: UInt8) -> Bool { (byte | 32) &- UInt8(ascii: "a") < 26 }

  /// Patterns are looked up later, when the lists are opened.
  private static func checkFile(_ path: String) throws(SourceError) {
    if path.utf8.contains(where: "*?[".utf8.contains) { return }
    var status = stat()
    guard stat(path, &status) == 0 else {
      let reason = errno == ENOENT ? "no such file; URLs start with http:// or https://" : errorSentence()
      throw SourceError(sentence: "cannot read \(named(path)): \(reason)")
    }
    guard access(path, R_OK) == 0 else { throw SourceError(sentence: "cannot read \(named(path)): \(errorSentence())") }
  }
}

extension [Source] {
  /// The lists of the sources other than job files, in order; adjacent URLs form one list.
  var manifests: [Job.List] {
    var manifests: [Job.List] = []
    var urls: [URLList.InlineEntry] = []
    func endList() {
      if !urls.isEmpty { manifests.append(Job.List(urls)) }
      urls = []
    }
    for source in self {
      switch source {
      case .job: break
      // It has no line in a file.
      case .url(let url): urls.append(URLList.InlineEntry(text: url, line: 0))
      case .manifest(let manifest):
        endList()
        manifests.append(manifest)
      }
    }
    endList()
    return manifests
  }

  var jobPaths: [String] { compactMap { if case .job(let path) = $0 { path } else { nil } } }
}
