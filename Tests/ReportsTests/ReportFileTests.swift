import Foundation
import Glibc
import ImagePrimitives
@testable import Reports
import TestSupport
import Testing

@Suite struct ReportFileTests {
  private let folder = TemporaryDirectory()

  private func names(in path: String = "") -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.file(path))) ?? []).sorted()
  }

  private func write(_ text: String, to file: ReportFile) throws {
    try Array(text.utf8).withUnsafeBytes { try file.write($0) }
  }

  @Test("the old report stays until the new one is complete") func theOldReportStaysUntilTheNewOneIsWhole() throws {
    folder.write("old", to: "report.json")
    let file = try ReportFile(path: folder.file("report.json"))
    try write("ne", to: file)
    #expect(folder.read("report.json") == Array("old".utf8))
    try write("w", to: file)
    try file.commit()
    #expect(folder.read("report.json") == Array("new".utf8))
    #expect(names() == ["report.json"])
  }

  @Test("a killed run leaves no partial report") func aKilledRunLeavesNothing() throws {
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

  @Test("an uncommitted report leaves no file") func aReportThatIsNotCommittedLeavesNothing() throws {
    do {
      let file = try ReportFile(path: folder.file("report.json"))
      try write("half", to: file)
    }
    #expect(names() == [])
  }

  @Test("missing parent folders are created") func theFoldersAboveItAreMade() throws {
    try ReportFile(path: folder.file("a/b//c/report.json")).commit()
    #expect(names(in: "a/b/c") == ["report.json"])
  }

  @Test("a report has the umask's mode") func itHasTheModeThatTheUmaskLeaves() throws {
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

  @Test("a symbolic link is followed") func aLinkIsFollowed() throws {
    folder.write("old", to: "real/report.json")
    symlink(folder.file("real/report.json"), folder.file("latest.json"))
    let file = try ReportFile(path: folder.file("latest.json"))
    try write("new", to: file)
    try file.commit()
    #expect(folder.read("real/report.json") == Array("new".utf8))
    #expect(names() == ["latest.json", "real"])
  }

  @Test("a full device is a typed error with advice") func aFullDeviceIsATypedErrorThatSaysWhatToDo() throws {
    let report = makeRun().finish(makeEnd(after: .seconds(1)))
    let file = try ReportFile(path: "/dev/full")
    let error = #expect(throws: ReportError.self) { try JSONReport().write(report, to: file) }
    #expect(error == ReportError(.write, path: "/dev/full", code: ENOSPC))
    expectGolden(error.map { "\($0)" })
  }

  @Test("an unusable path is reported at once") func aPathThatCannotBeOpenedIsKnownAtOnce() {
    folder.write("", to: "file")
    mkdir(folder.file("folder"), 0o755)
    #expect(throws: ReportError(.open, path: folder.file("folder"), code: EISDIR)) {
      try ReportFile(path: folder.file("folder"))
    }
    #expect(throws: ReportError(.makeFolder, path: folder.file("file/x/report.json"), code: ENOTDIR)) {
      try ReportFile(path: folder.file("file/x/report.json"))
    }
    #expect(throws: ReportError.self) { try RowJournal<JSONRow>(path: folder.file("folder")) }
    #expect(throws: ReportError.self) { try ReportFile(path: "/proc/no-such/report.json") }
  }
}
