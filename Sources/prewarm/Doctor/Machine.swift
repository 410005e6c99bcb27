import Base
import Glibc
import Reports

/// Facts of this machine, as far as its files tell them.
enum Machine {
  static var system: String {
    let release = text("/etc/os-release").split(separator: "\n").first { $0.hasPrefix("PRETTY_NAME=") }
    var names = utsname()
    uname(&names)
    let kernel = withUnsafeBytes(of: &names.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    let machine = withUnsafeBytes(of: &names.machine) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    let name = release.map { $0.dropFirst("PRETTY_NAME=".count).filter { $0 != "\"" } } ?? "unknown distribution"
    let library = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
      confstr(Int32(_CS_GNU_LIBC_VERSION), buffer.baseAddress, 64) > 0 ? String(cString: buffer.baseAddress!) : "unknown libc"
    }
    return "\(name), Linux \(kernel), \(machine), \(library)"
  }

  static var memory: String {
    let all = byteCount(Double(sysconf(Int32(_SC_PHYS_PAGES))) * Double(sysconf(Int32(_SC_PAGESIZE))))
    let limit = Double(text("/sys/fs/cgroup/memory.max").filter { $0 != "\n" })
    return limit.map { "\(all), limited to \(byteCount($0))" } ?? all
  }

  static var openFiles: String {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return "\(limit.rlim_cur)"
  }

  /// The commit that `scripts/build` wrote into the build ID of the command: `prewarm`, a null byte and 20 bytes; nil in other builds.
  static var commit: String? {
    let number = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return nil }
    let file = FileDescriptor(owning: number)
    func bytes(at offset: UInt64, _ count: Int) -> [UInt8] {
      [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        filled = readAll(file.number, at: offset, into: UnsafeMutableRawBufferPointer(buffer)) ?? 0
      }
    }
    func value(_ bytes: [UInt8], _ offset: Int, _ size: Int) -> UInt64 {
      bytes.dropFirst(offset).prefix(size).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    // elf(5): the place and number of the program headers, of 56 bytes each; type 4 is a note, with its place in the file.
    let header = bytes(at: 0, 64)
    let headers = bytes(at: value(header, 32, 8), 56 * Int(value(header, 56, 2)))
    // A note has the sizes of name and value, type 3 (NT_GNU_BUILD_ID), and the name.
    let mark: [UInt8] = [4, 0, 0, 0, 28, 0, 0, 0, 3, 0, 0, 0] + Array("GNU\0prewarm\0".utf8)
    for row in stride(from: 0, to: headers.count, by: 56) where value(headers, row, 4) == 4 {
      let note = bytes(at: value(headers, row + 8, 8), 1024)
      if let range = note.firstRange(of: mark) { return hexadecimal(note[range.upperBound...].prefix(20)) }
    }
    return nil
  }

  /// The files of the loaded shared libraries, each with its package and version if dpkg, or the list of a relocatable build, has them.
  static var libraries: [String] {
    let maps = text("/proc/self/maps").split(separator: "\n")
    let paths = Set(
      maps.compactMap { $0.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true).dropFirst(5).first }
    )
    .map { String($0.drop { $0 == " " }) }.filter { $0.contains(".so") }.sorted()
    let packages = Packages(paths)
    return paths.map { path in packages.version(of: path).map { "\(path) (\($0))" } ?? path }
  }

  /// A folder with its file system and free space.
  static func place(of folder: String) -> String {
    let existing = existing(folder)
    var status = statvfs()
    statvfs(existing, &status)
    let note = existing == folder ? "" : ", not created yet"
    return "\(folder)\(note); \(fileSystem(of: existing)), \(byteCount(Double(status.f_bavail) * Double(status.f_frsize))) free"
  }

  /// Why nothing can be written to the folder, or to the one that it would be made in; nil if it can.
  static func refusal(of folder: String) -> String? { access(existing(folder), W_OK | X_OK) == 0 ? nil : errorSentence() }

  /// The folder, or the innermost one around it that exists.
  private static func existing(_ folder: String) -> String {
    var path = folder
    while access(path, F_OK) != 0, errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
      path = String(path[..<slash])
    }
    return path
  }

  /// The type of the file system, from the lines `ID PARENT DEVICE ROOT MOUNTPOINT OPTIONS … - TYPE …` (proc(5)).
  private static func fileSystem(of folder: String) -> String {
    guard let real = realpath(folder, nil) else { return "unknown file system" }
    defer { free(real) }
    let path = String(cString: real) + "/"
    let mounts = text("/proc/self/mountinfo").split(separator: "\n").compactMap { line -> (point: Substring, type: Substring)? in
      let halves = line.split(separator: " - ", maxSplits: 1)
      let point = halves[0].split(separator: " ").dropFirst(4).first
      guard halves.count == 2, let point, let type = halves[1].split(separator: " ").first else { return nil }
      return path.hasPrefix(point == "/" ? "/" : point + "/") ? (point, type) : nil
    }
    // A later mount hides an earlier one.
    return mounts.enumerated().max { ($0.element.point.count, $0.offset) < ($1.element.point.count, $1.offset) }
      .map { String($0.element.type) } ?? "unknown file system"
  }

  fileprivate static func text(_ path: String) -> String { readText(path, limit: 1 << 22) ?? "" }
}

/// The packages of files, from dpkg's database (dpkg-query(1)), or from the file VERSIONS beside libraries that came with the command: lines
/// with a file's name, its package and the version.
private struct Packages {
  private var versions: [String: String] = [:]

  init(_ paths: [String]) {
    for path in paths {
      let folder = path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex)
      for line in Machine.text("\(folder)/VERSIONS").split(separator: "\n") {
        let fields = line.split(separator: " ", maxSplits: 1)
        if fields.count == 2 { versions["\(folder)/\(fields[0])"] = String(fields[1]) }
      }
    }
    let info = "/var/lib/dpkg/info"
    guard let names = names(inFolder: info) else { return }
    var owners: [String: String] = [:]
    for name in names {
      guard name.hasSuffix(".list"), name.hasPrefix("lib") || name.hasPrefix("zlib") else { continue }
      let files = Set(Machine.text("\(info)/\(name)").split(separator: "\n"))
      // Packages from before /lib became a link to /usr/lib list their files there.
      for path in paths where files.contains(path[...]) || files.contains(path.dropFirst("/usr".count)) {
        owners[path] = String(name.dropLast(".list".count).prefix { $0 != ":" })
      }
    }
    let known = Set(owners.values)
    var (package, found): (String, [String: String]) = ("", [:])
    for line in Machine.text("/var/lib/dpkg/status").split(separator: "\n") {
      if line.hasPrefix("Package: ") { package = String(line.dropFirst("Package: ".count)) }
      if line.hasPrefix("Version: "), known.contains(package) { found[package] = String(line.dropFirst("Version: ".count)) }
    }
    for (path, owner) in owners { versions[path] = found[owner].map { "\(owner) \($0)" } }
  }

  func version(of path: String) -> String? { versions[path] }
}
