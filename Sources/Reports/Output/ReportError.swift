import Base
import Glibc

/// A report can't be written; the description names the file.
package struct ReportError: Error, Sendable, Hashable, CustomStringConvertible {
  package enum Step: Sendable, Hashable {
    case makeFolder, open, write, commit
    /// Locking it: another run is writing it.
    case lock
    /// Storing parts of it in the folder for temporary files.
    case spool
  }

  package var step: Step
  /// The path as the job names it; `-` is standard output. For ``Step/spool`` the folder for temporary files.
  package var path: String
  package var code: Int32

  package init(_ step: Step, path: String, code: Int32) {
    self.step = step
    self.path = path
    self.code = code
  }

  /// Whether the reader of standard output has ended, as in `| head`: it wanted no more, so nothing failed.
  package var isReaderGone: Bool { path == "-" && code == EPIPE }

  package var description: String {
    let place = path == "-" ? "standard output" : path
    let reason = errorSentence(code)
    let advice =
      switch code {
      case ENOSPC, EDQUOT: "; free some space and run again"
      case EACCES, EPERM, EROFS: "; choose a path that this user may write"
      case ENXIO: "; first start the program that reads this pipe"
      case EISDIR: "; name a file in it"
      case ENOTDIR: "; a part of the path is a file"
      default: ""
      }
    return switch step {
    case .makeFolder: "cannot create the folder of report \(place): \(reason)\(advice)"
    case .lock: "cannot open report \(place): another run is writing it; wait for that run, or name another file"
    case .open: "cannot open report \(place): \(reason)\(advice)"
    case .write: "cannot write report \(place): \(reason)\(advice)"
    case .spool:
      "cannot store parts of a report in \(place): \(reason); set TMPDIR to a writable folder with free space"
    case .commit: "cannot move the finished report to \(place): \(reason)\(advice)"
    }
  }
}
