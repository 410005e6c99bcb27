import Foundation
import Glibc
import TestOrigin
import TestSupport

extension FaultRow {
  /// Disks and folders that can't be written, or lose data.
  static let disk: [FaultRow] =
    [
      .disk("reports on a full device", "No space left on device") { $0.options += ["--report", "text=/dev/full"] },
      .disk("rows on a full device", "No space left on device") { $0.set("report=[{text: /dev/full}]") },
      .disk("a report whose folder is a file", "a part of the path is a file") { scene in
        scene.job.folder.write("", to: "file")
        scene.options += ["--report", "text=file/report.txt"]
      },
      .disk("a report that is a folder", "name a file in it") { scene in
        mkdir(scene.job.folder.file("folder"), 0o755)
        scene.options += ["--report", "text=folder"]
      },
      .standardOutput("standard output on a full device", .ended(1, "No space left on device"), output: .file("/dev/full")),
      .standardOutput("a reader of standard output that exits", .ended(0), output: .closedAfter(bytes: 0)),
      .standardOutput("no standard output at all", .ended(1, "Bad file descriptor"), after: "exec >&-"),
      FaultRow("disk", "no standard error", .ended(0), arrange: { _ in }, run: { try await $0.start(after: "exec 2>&-").wait() }),
      .disk("the cache's folder is a file", "cannot create") { scene in
        scene.job.folder.write("", to: "file")
        scene.set("cache.directory=file")
      },
      .otherCache("the cache has another version", "format version") { $0.job.folder.write("99\n", to: "other/default/VERSION") },
      .otherCache("the cache's index isn't an index", "has no valid header") {
        $0.job.folder.write([UInt8](repeating: 7, count: 8192), to: "other/default/index.mdb")
      },
      .otherCache("the cache's index is truncated", "is truncated") {
        truncate($0.job.folder.file("other/default/index.mdb"), 12_288)
      },
      FaultRow("disk", "the cache's folder is deleted during the run", .cancelled("cache-write", "deleted or replaced")) {
        scene in
        try scene.useOtherCache()
        scene.options += JobFolder.patience
        scene.add(.jpeg(5))
      } run: { scene in
        try await scene.runHeld { _ in try FileManager.default.removeItem(atPath: scene.job.folder.file("other")) }
      },
      .fewDescriptors("the limit of open files is too low"),
      .fewDescriptors("the limit of open files is too low, and each image is decoded", keys: "verify: {decode: full}"),
    ] + (TemporaryMount.isAllowed ? [fullDisk] : [])

  private static let fullDisk = FaultRow(
    "disk",
    "no space for the cache",
    .cancelled("cache-write", "no space left for the cache")
  ) { scene in
    let mount = try scene.keep(TemporaryMount(byteCount: 256 << 10))
    scene.set("cache.directory=\(mount.directory.path)")
    scene.add(.jpeg(5, padding: 400_000))
  }

  private static func disk(_ fault: String, _ says: String, _ arrange: @escaping FaultScript) -> FaultRow {
    FaultRow("disk", fault, .ended(1, says), arrange: arrange)
  }

  private static func otherCache(_ fault: String, _ says: String, _ damage: @escaping FaultScript) -> FaultRow {
    .disk(fault, says) { scene in
      try scene.useOtherCache()
      try await damage(scene)
    }
  }

  private static func standardOutput(
    _ fault: String,
    _ end: FaultEnd,
    output: Command.Output = .captured,
    after script: String? = nil
  ) -> FaultRow {
    FaultRow("disk", fault, end) {
      $0.set("report=[{text: '-'}]")
    } run: {
      try await $0.start(output: output, after: script).wait()
    }
  }

  private static func fewDescriptors(_ fault: String, keys: String = "") -> FaultRow {
    FaultRow("disk", fault, .downloaded, keys: keys) { scene in
      for number in 0..<200 { scene.add(.jpeg(number + 10, padding: 280_000), at: "/\(number).jpg") }
      scene.options += ["--concurrency", "4096", "--per-host", "4096"]
    } run: {
      // Each processor's decoder needs four.
      try await $0.start(after: "ulimit -n $((32 + 4 * $(nproc)))").wait()
    }
  }

  /// Signals, and other reasons to end a run early.
  static let signals: [FaultRow] = [
    .signal("SIGINT", SIGINT, exit: 130), .signal("SIGTERM", SIGTERM, exit: 143),
    FaultRow("signal", "SIGINT twice", .ended(130, "finish"), arrange: { $0.add(.stall) }) { scene in
      let command = try scene.start()
      try await scene.origin.waitForRequests(1, of: "/fault.jpg")
      command.send(SIGINT)
      try await command.waitForError("finish")
      command.send(SIGINT)
      return try await command.wait()
    },
    FaultRow("signal", "the deadline passes", .cancelled(exit: 2), keys: "prefetch: {deadline: 1s}", arrange: { $0.add(.stall) }),
  ]

  private static func signal(_ name: String, _ signal: Int32, exit: Int) -> FaultRow {
    FaultRow("signal", name, .downloaded(exit: exit, "finish")) { scene in
      scene.add(.jpeg(5))
      scene.options += JobFolder.patience
    } run: { scene in
      try await scene.runHeld { command in
        command.send(signal)
        try await command.waitForError("finish")
      }
    }
  }
}

extension FaultScene {
  /// Copies the cache, and uses the copy.
  fileprivate func useOtherCache() throws {
    try FileManager.default.copyItem(atPath: job.cacheDirectory, toPath: job.folder.file("other"))
    set("cache.directory=other")
  }

  /// Runs the job, and calls `meanwhile` while the response with the fault is held.
  fileprivate func runHeld(_ meanwhile: (Command) async throws -> Void) async throws -> Command.Result {
    let gate = origin.hold("/fault.jpg")
    let command = try start()
    try await gate.waitForWaiting(1)
    try await meanwhile(command)
    gate.open()
    return try await command.wait()
  }
}
