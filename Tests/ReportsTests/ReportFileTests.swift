import Foundation
import Glibc
import Base
@testable import Reports
import TestSupport
import Testing

@Suite struct ReportFileTests {
  private let folder = TemporaryDirectory()

  private func names(in path: String = "") -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.file(path))) ?? []).filter { !$0.hasPrefix(".prewarm-lock-") }
      .sorted()
  }

  private func write(_ text: String, to file: ReportFile) throws { try Array(text.utf8).withUnsafeBytes { try file.write($0) } }

  @Test func `the old report stays until the new one is complete`() throws {
    folder.write("old", to: "report.json")
    let file = try ReportFile(path: folder.file("report.json"))
    try write("ne", to: file)
    #expect(folder.read("report.json") == Array("old".utf8))
    try write("w", to: file)
    try file.commit()
    #expect(folder.read("report.json") == Array("new".utf8))
    #expect(names() == ["report.json"])
  }

  @Test func `a killed run leaves no partial report`() throws {
    // Only a file that never had a name can promise it; not every file system knows those (open(2), O_TMPFILE).
    let flags = 0o20_000_000 | O_DIRECTORY | O_WRONLY
    let descriptor = open(folder.path, flags, 0o600)
    guard descriptor >= 0 else { return }
    close(descriptor)
    folder.write("old", to: "report.json")
    let file = try ReportFile(path: folder.file("report.json"))
    let second = try ReportFile(path: folder.file("new.json"))
    try write("half", to: file)
    #expect(names() == ["report.json"])
    try file.commit()
    try second.commit()
    #expect(names() == ["new.json", "report.json"] && folder.read("report.json") == Array("half".utf8))
  }

  @Test func `a report that is open cannot be opened again, whatever its path, until it is closed`() throws {
    mkdir(folder.file("d"), 0o755)
    symlink("d", folder.file("e"))
    for growsInPlace in [false, true] {
      var file: ReportFile? = try ReportFile(path: folder.file("d/o"), growsInPlace: growsInPlace)
      for (path, grows) in [("d/o", false), ("d/o", true), ("e/o", false), ("d/../e/./o", true)] {
        #expect(throws: ReportError(.lock, path: folder.file(path), code: EWOULDBLOCK)) {
          try ReportFile(path: folder.file(path), growsInPlace: grows)
        }
      }
      _ = try ReportFile(path: folder.file("d/p"))
      try file?.commit()
      #expect(throws: ReportError.self) { try ReportFile(path: folder.file("d/o")) }
      file = nil
      try ReportFile(path: folder.file("d/o")).commit()
    }
    expectGolden(ReportError(.lock, path: "reports/a.json", code: EWOULDBLOCK).description)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("d")) == ["o"])
  }

  @Test func `the lock file of a killed run doesn't block other runs`() throws {
    try ReportFile(path: folder.file("o")).commit()
    var file: ReportFile? = try ReportFile(path: folder.file("o"))
    let left = try #require(
      try FileManager.default.contentsOfDirectory(atPath: folder.path).first { $0.hasPrefix(".prewarm-lock-") }
    )
    _ = file
    file = nil
    folder.write("", to: left)
    chmod(folder.file(left), 0o444)
    try ReportFile(path: folder.file("o")).commit()
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["o"])
  }

  @Test func `a dangling link is followed`() throws {
    symlink("real.json", folder.file("latest.json"))
    try ReportFile(path: folder.file("latest.json")).commit()
    #expect(names() == ["latest.json", "real.json"])
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.file("latest.json")) == "real.json")
  }

  @Test func `paths to one file have one identity, even before the file exists`() throws {
    mkdir(folder.file("d"), 0o755)
    folder.write("", to: "d/a")
    symlink("d", folder.file("e"))
    symlink("d/later", folder.file("l"))
    link(folder.file("d/a"), folder.file("b"))
    func identity(_ path: String) -> FileIdentity { FileIdentity(folder.file(path)) }
    for (path, other) in [
      ("d/a", "e/a"), ("d/a", "b"), ("d/a", "d/./a"), ("d/o", "e/o"), ("d/later", "l"), ("e/later", "l"), ("d/x/y", "e//x/./y"),
      ("d/x/../y", "d/y"), ("d/x/../a", "d/a"), ("x/y/../../d/a", "b"), ("d/x/y/../../z", "d/z"),
    ] {
      #expect(identity(path) == identity(other), "\(path) \(other)")
    }
    for (path, other) in [("d/a", "d/o"), ("d/o", "o"), ("d/x/y", "d/y"), ("d/o", "d/p"), ("d", "d/o")] {
      #expect(identity(path) != identity(other), "\(path) \(other)")
    }
    #expect(
      FileIdentity.isInside(folder.file("e/x/y"), folder.file("d")) && FileIdentity.isInside(folder.file("b"), folder.file("d"))
    )
    #expect(
      !FileIdentity.isInside(folder.file("o"), folder.file("d")) && FileIdentity.isInside(folder.file("n/o"), folder.file("n"))
    )
    let current = currentFolderIdentity()
    #expect(FileIdentity(".") == current && FileIdentity("./") == current)
  }

  private func currentFolderIdentity() -> FileIdentity { FileIdentity(FileManager.default.currentDirectoryPath) }

  @Test func `an uncommitted report leaves no file`() throws {
    do {
      let file = try ReportFile(path: folder.file("report.json"))
      try write("half", to: file)
    }
    #expect(names() == [])
  }

  @Test func `missing parent folders are created`() throws {
    try ReportFile(path: folder.file("a/b//c/report.json")).commit()
    #expect(names(in: "a/b/c") == ["report.json"])
  }

  @Test func `a report has the umask's mode`() throws {
    // Reading the umask means setting it, so it is taken from what the system makes of a plain new file.
    let plain = open(folder.file("plain"), O_CREAT | O_WRONLY, 0o666)
    close(plain)
    try ReportFile(path: folder.file("report.json")).commit()
    func mode(_ name: String) -> mode_t {
      var status = stat()
      stat(folder.file(name), &status)
      return status.st_mode
    }
    #expect(mode("report.json") == mode("plain"))
  }

  @Test func `a symbolic link is followed`() throws {
    folder.write("old", to: "real/report.json")
    symlink(folder.file("real/report.json"), folder.file("latest.json"))
    let file = try ReportFile(path: folder.file("latest.json"))
    try write("new", to: file)
    try file.commit()
    #expect(folder.read("real/report.json") == Array("new".utf8))
    #expect(names() == ["latest.json", "real"])
  }

  @Test func `a full device is a typed error with advice`() throws {
    let report = makeRun().finish(makeEnd())
    let file = try ReportFile(path: "/dev/full")
    let error = #expect(throws: ReportError.self) { try JSONReport().write(report, to: file) }
    #expect(error == ReportError(.write, path: "/dev/full", code: ENOSPC))
    expectGolden(error.map { "\($0)" })
  }

  @Test func `an unusable path is reported at once`() {
    folder.write("", to: "file")
    mkdir(folder.file("folder"), 0o755)
    #expect(throws: ReportError(.open, path: folder.file("folder"), code: EISDIR)) { try ReportFile(path: folder.file("folder")) }
    #expect(throws: ReportError(.makeFolder, path: folder.file("file/x/report.json"), code: ENOTDIR)) {
      try ReportFile(path: folder.file("file/x/report.json"))
    }
    #expect(throws: ReportError.self) { try JSONLinesJournal(path: folder.file("folder")) }
    #expect(throws: ReportError.self) { try ReportFile(path: "/proc/no-such/report.json") }
  }
}
