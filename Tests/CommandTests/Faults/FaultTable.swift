import Foundation
import Synchronization
import TestSupport

/// The table of all faults, written as Markdown to the file in `PREWARM_FAULT_TABLE`.
enum FaultTable {
  static let rows: [FaultRow] =
    FaultRow.server + FaultRow.bodies + FaultRow.interrupted + FaultRow.throttling + FaultRow.limitedByNginx + FaultRow.otherHosts
    + FaultRow.network + FaultRow.encrypted + FaultRow.http2 + FaultRow.detours + FaultRow.addresses + FaultRow.secrets
    + FaultRow.robots + FaultRow.input + FaultRow.sitemaps + FaultRow.logs + FaultRow.disk + FaultRow.signals

  private static let path = ProcessInfo.processInfo.environment["PREWARM_FAULT_TABLE"]
  private static let lines = Mutex<[Int: String]>([:])

  /// Records a row's result; writes the file when all rows are there.
  static func note(_ index: Int, message: String) {
    guard let path else { return }
    let row = rows[index]
    let cells = [row.part, row.fault, row.outcome ?? "–", row.kind ?? "–", "\(row.exit)", message].map {
      $0.replacing("|", with: "\\|").replacing("\n", with: " ")
    }
    let text: String? = lines.withLock { lines in
      lines[index] = "| \(cells.joined(separator: " | ")) |"
      guard lines.count == rows.count else { return nil }
      let head = ["| part | fault | outcome | kind | exit | says |", "|---|---|---|---|---|---|"]
      return (head + lines.sorted { $0.key < $1.key }.map(\.value)).joined(separator: "\n") + "\n"
    }
    if let text { _ = FileManager.default.createFile(atPath: path, contents: Data(text.utf8)) }
  }
}
