import Foundation
import Glibc
import TestOrigin
import TestSupport

extension FaultRow {
  /// Disks and folders that can't be written, or lose data.
  static let disk: [FaultRow] =
    [
      .disk("reports on a full device", exit: 1, "No space left on device") { $0.options += ["--report", "text=/dev/full"] },
      .disk("rows on a full device", exit: 1, "No space left on device") { scene in
        scene.options += ["--set", "report=[{text: /dev/full}]"]
      },
      .disk("a report whose folder is a file", exit: 1, "a part of the path is a file") { scene in
        scene.job.folder.write("", to: "file")
        scene.options += ["--report", "text=file/report.txt"]
      },
      .disk("a report that is a folder", exit: 1, "name a file in it") { scene in
        mkdir(scene.job.folder.file("folder"), 0o755)
        scene.options += ["--report", "text=folder"]
      },
      FaultRow("disk", "standard output on a full device", exit: 1, says: "No space left on device") { scene in
        scene.options += ["--set", "report=[{text: '-'}]"]
      } run: {
        try await $0.start(output: .file("/dev/full")).wait()
      },
      FaultRow("disk", "a reader of standard output that exits", exit: 0) { scene in
        scene.options += ["--set", "report=[{text: '-'}]"]
      } run: {
        try await $0.start(output: .closedAfter(bytes: 0)).wait()
      },
      FaultRow("disk", "no standard output at all", exit: 1, says: "Bad file descriptor") { scene in
        scene.options += ["--set", "report=[{text: '-'}]"]
      } run: {
        try await $0.startByShell("exec >&-").wait()
      },
      FaultRow("disk", "no standard error", exit: 0) { _ in
      } run: {
        try await $0.startByShell("exec 2>&-").wait()
      },
      .disk("the cache's folder is a file", exit: 1, "cannot create") { scene in
        scene.job.folder.write("", to: "file")
        scene.options += ["--set", "cache.directory=file"]
      },
      .disk("the cache has another version", exit: 1, "format version") { scene in
        scene.job.folder.write("99\n", to: "other/default/VERSION")
        scene.options += ["--set", "cache.directory=other"]
      },
      .disk("the cache's index isn't an index", exit: 1, "has no valid header") { scene in
        scene.job.folder.write("1\n", to: "other/default/VERSION")
        scene.job.folder.write([UInt8](repeating: 7, count: 8192), to: "other/default/index.mdb")
        scene.options += ["--set", "cache.directory=other"]
      },
      .disk("the cache's index is truncated", exit: 1, "is truncated") { scene in
        try FileManager.default.copyItem(atPath: scene.job.cacheDirectory, toPath: scene.job.folder.file("other"))
        truncate(scene.job.folder.file("other/default/index.mdb"), 12_288)
        scene.options += ["--set", "cache.directory=other"]
      },
      FaultRow(
        "disk",
        "the cache's folder is deleted during the run",
        outcome: "cancelled",
        kind: "cache-write",
        exit: 1,
        says: "deleted or replaced"
      ) { scene in
        try FileManager.default.copyItem(atPath: scene.job.cacheDirectory, toPath: scene.job.folder.file("other"))
        scene.options += ["--set", "cache.directory=other"] + JobFolder.patience
        scene.add(.body(SampleImages.jpeg(5), type: "image/jpeg"))
      } run: { scene in
        let gate = scene.origin.hold("/fault.jpg")
        let command = try scene.start()
        try await gate.waitForWaiting(1)
        try FileManager.default.removeItem(atPath: scene.job.folder.file("other"))
        gate.open()
        return try await command.wait()
      },
      FaultRow("disk", "the limit of open files is too low", outcome: "downloaded", exit: 0) { scene in
        for number in 0..<200 {
          scene.add(.body(SampleImages.jpeg(number + 10, padding: 280_000), type: "image/jpeg"), at: "/\(number).jpg")
        }
        scene.options += ["--concurrency", "4096", "--per-host", "4096"]
      } run: {
        try await $0.startByShell("ulimit -n 64").wait()
      },
      FaultRow(
        "disk",
        "the limit of open files is too low, and each image is decoded",
        keys: "verify: {decode: full}",
        outcome: "downloaded",
        exit: 0,
        says: ""
      ) { scene in
        for number in 0..<200 {
          scene.add(.body(SampleImages.jpeg(number + 10, padding: 280_000), type: "image/jpeg"), at: "/\(number).jpg")
        }
        scene.options += ["--concurrency", "4096", "--per-host", "4096"]
      } run: {
        try await $0.startByShell("ulimit -n 64").wait()
      },
    ] + (TemporaryMount.isAllowed ? [fullDisk] : [])

  private static let fullDisk = FaultRow(
    "disk",
    "no space for the cache",
    outcome: "cancelled",
    kind: "cache-write",
    exit: 1,
    says: "no space left for the cache"
  ) { scene in
    let mount = try TemporaryMount(byteCount: 256 << 10)
    scene.kept.append(mount)
    scene.options += ["--set", "cache.directory=\(mount.directory.path)"]
    scene.add(.body(SampleImages.jpeg(5, padding: 400_000), type: "image/jpeg"))
  }

  private static func disk(
    _ fault: String,
    exit: Int,
    _ says: String,
    _ arrange: @escaping @Sendable (FaultScene) async throws -> Void
  ) -> FaultRow {
    FaultRow("disk", fault, exit: exit, says: says, arrange: arrange)
  }

  /// Signals, and other reasons to end a run early.
  static let signals: [FaultRow] = [
    .signal("SIGINT", SIGINT, exit: 130), .signal("SIGTERM", SIGTERM, exit: 143),
    FaultRow("signal", "SIGINT twice", exit: 130, says: "finish", arrange: { $0.add(.stall) }) { scene in
      let command = try scene.start()
      try await scene.origin.waitForRequests(1, of: "/fault.jpg")
      command.send(SIGINT)
      try await command.waitForError("finish")
      command.send(SIGINT)
      return try await command.wait()
    },
    FaultRow(
      "signal",
      "the deadline passes",
      keys: "prefetch: {deadline: 1s}",
      outcome: "cancelled",
      exit: 2,
      says: "",
      arrange: { $0.add(.stall) }
    ),
  ]

  private static func signal(_ name: String, _ signal: Int32, exit: Int) -> FaultRow {
    FaultRow("signal", name, outcome: "downloaded", exit: exit, says: "finish") { scene in
      scene.add(.body(SampleImages.jpeg(5), type: "image/jpeg"))
      scene.options += JobFolder.patience
    } run: { scene in
      let gate = scene.origin.hold("/fault.jpg")
      let command = try scene.start()
      try await gate.waitForWaiting(1)
      command.send(signal)
      try await command.waitForError("finish")
      gate.open()
      return try await command.wait()
    }
  }
}

extension FaultScene {
  /// Starts the job from a shell that first runs `first`.
  fileprivate func startByShell(_ first: String) throws -> Command {
    job.write(urls: urls)
    let arguments =
      [BuiltCommand.path, "run", "job.yaml", "--report", "json=report.json", "--report", "jsonl=rows.jsonl"] + options
    return try Command(
      "/bin/sh",
      ["-c", first + "\nexec \"$@\"", "sh"] + arguments,
      environment: job.environment.merging(environment) { $1 },
      workingDirectory: job.folder.path
    )
  }
}
