import Glibc
import ImagePrimitives

/// Writes data to standard output; false where its reader is gone or the device is full.
@discardableResult
func writeToStandardOutput(_ text: String) -> Bool { writeAll(Array(text.utf8), to: STDOUT_FILENO) }

/// Writes what a person is told to standard error; where that is gone, nobody is there to be told.
func writeToStandardError(_ text: String) { _ = writeAll(Array(text.utf8), to: STDERR_FILENO) }

/// Writes all bytes; false where the system takes no more.
func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
  bytes.withUnsafeBytes { ImagePrimitives.writeAll($0, to: descriptor) }
}

/// The columns of the terminal behind a descriptor; nil where it is none.
func terminalWidth(of descriptor: Int32) -> Int? {
  guard isatty(descriptor) == 1 else { return nil }
  var size = winsize()
  guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
  return Int(size.ws_col)
}
