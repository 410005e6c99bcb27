import ImagePrimitives
import Glibc

/// Why a report could not be written, as one sentence that names the file.
public struct ReportError: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Step: Sendable, Hashable {
    case makeFolder, open, write, commit
    /// Keeping other runs from it, of which one writes it.
    case lock
    /// Keeping parts of it in the folder for temporary files.
    case spool
  }

  public var step: Step
  /// The path as the job names it; `-` is standard output. For ``Step/spool`` it is the folder for temporary files.
  public var path: String
  public var code: Int32

  public init(_ step: Step, path: String, code: Int32) {
    self.step = step
    self.path = path
    self.code = code
  }

  public var description: String {
    let place = path == "-" ? "standard output" : path
    let reason = errorSentence(code)
    let advice =
      switch code {
      case ENOSPC, EDQUOT: "; free some space and run again"
      case EACCES, EPERM, EROFS: "; choose a path that this user may write"
      case ENXIO: "; start the program that reads this pipe first"
      case EISDIR: "; name a file in it"
      case ENOTDIR: "; a part of the path is a file"
      default: ""
      }
    return switch step {
    case .makeFolder: "cannot make the folder of the report \(place): \(reason)\(advice)"
    case .lock: "cannot open the report \(place): another run is writing it; wait until that ends, or name another file"
    case .open: "cannot open the report \(place): \(reason)\(advice)"
    case .write: "cannot write the report \(place): \(reason)\(advice)"
    case .spool:
      "cannot keep parts of a report in \(place): \(reason); let TMPDIR name a folder that has room and that this user may write"
    case .commit: "cannot put the finished report in its place at \(place): \(reason)\(advice)"
    }
  }
}
